"""Tickets: which weights a run starts from, and which of them live."""

from .base import Drawn, Ground, Origin, Ticket, tickets

__all__ = ["Drawn", "Ground", "Origin", "Ticket", "tickets"]
