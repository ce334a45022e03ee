"""Figures of structural inference, and of the audit of its statements."""
