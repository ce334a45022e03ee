"""Figures of the experiments about causes."""
