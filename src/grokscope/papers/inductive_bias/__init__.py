"""Explaining Grokking in Transformers through the Lens of Inductive Bias (Singh, Misra & Orvieto 2026, arXiv:2602.06702).

Which choices of architecture and optimizer make a transformer prefer the solution that generalises? The authors say that the
position of LayerNorm sets the speed of grokking, through shortcuts and the entropy of attention; that readout scale, the usual
control for lazy training, is confounded by learning rate and weight decay; that features evolve throughout training; and that
generalisation comes with features that can be compressed.
"""
