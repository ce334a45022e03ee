"""Explaining Grokking in Transformers through the Lens of Inductive Bias (Singh, Misra & Orvieto 2026)."""
