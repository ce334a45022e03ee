"""Figures of the race."""
