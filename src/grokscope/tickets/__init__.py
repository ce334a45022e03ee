"""Tickets: which weights a run starts from, and which of them are kept."""

from .base import Origin, PrunedInit, PruningContext, Ticket, tickets

__all__ = ["Origin", "PrunedInit", "PruningContext", "Ticket", "tickets"]
