"""Predictors, one file each."""
