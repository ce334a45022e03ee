"""Fused GPU kernels behind the functions of models/lookup.py. The functions there stay the definition; tests compare the two."""
