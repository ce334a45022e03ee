"""Grokking as Structural Inference: Transformers Need Bayesian Lottery Tickets."""
