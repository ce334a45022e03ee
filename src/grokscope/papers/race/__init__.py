"""The race of accelerators: one experiment per track, and the positive controls."""
