"""Experiments about the search: is the support found, at what cost, and what do other methods reach for as much?"""
