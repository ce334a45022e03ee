"""Figures of the inductive-bias experiments."""
