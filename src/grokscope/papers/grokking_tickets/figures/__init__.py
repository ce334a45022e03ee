"""Figures of grokking tickets."""
