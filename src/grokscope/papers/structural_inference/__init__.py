"""Grokking as Structural Inference: Transformers Need Bayesian Lottery Tickets (Hidajat, Stoll & An 2026, arXiv:2605.15787).

Why does a transformer that has memorised its training set wait so long before it generalises? The authors answer that attention has
to find the informative tokens first. Generalisation, they say, needs two conditions: an MLP whose norm is neither too small nor too
large, and attention with enough mass on every informative token. While the MLP memorises, the loss vanishes and takes the gradient
that attention would learn from with it (explaining away); weight decay has to erode what was memorised before attention can learn.
A KL prior towards the informative tokens, they say, ends the wait, and its strength sets the time.
"""
