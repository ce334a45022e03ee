"""When a run is evaluated, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings import Settings, require, setting


@dataclass(frozen=True, kw_only=True)
class Log(Settings):
    """When a run is evaluated."""

    every: int = 25
    """Epochs between evaluations."""
    dense: bool = False
    """Also evaluate at log-spaced epochs early in training: 1, 2, 3, 4, 6, 8, 11 …"""
    keep: int = 0
    """Epochs between checkpoints that are kept; 0 keeps the last one only."""

    def check(self) -> None:
        require(self.every >= 1, "every", f"{self.every} is below 1")
        require(self.keep >= 0, "keep", f"{self.keep} is below 0")

    def next_after(self, epoch: int) -> int:
        """The first epoch after `epoch` at which to evaluate."""
        regular = (epoch // self.every + 1) * self.every
        if not self.dense:
            return regular
        step = 0
        while (dense := round(2 ** (step / 2))) <= epoch:
            step += 1
        return min(regular, dense)


@dataclass(frozen=True, kw_only=True)
class Stop(Settings):
    """When a run is stopped before its last epoch."""

    accuracy: float = 0.99
    """Test accuracy that counts as generalised; 0 always trains to the last epoch."""
    window: int = 100
    """Epochs for which it must hold before the run stops."""
    extend: float = setting(0.0, since=2)
    """How much longer it must hold, as a multiple of the epochs before: with 1, a run that generalised at epoch 2,000 stops at
    4,000 if its accuracy held until then. The clock "stable" needs 1 or more."""

    def check(self) -> None:
        require(0 <= self.accuracy <= 1, "accuracy", f"{self.accuracy} is outside [0, 1]")
        require(self.window >= 0, "window", f"{self.window} is below 0")
        require(0 <= self.extend <= 100, "extend", f"{self.extend:g} is outside [0, 100]")

    def required(self, since: int) -> float:
        """Epochs for which an accuracy reached at epoch `since` must hold."""
        return max(self.window, self.extend * since)
