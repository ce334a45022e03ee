"""Proposals: which supports are candidates."""

from .base import Pool, Proposal, proposals

__all__ = ["Pool", "Proposal", "proposals"]
