"""The four phases of a run, by a written rule (structural inference §5.1, which marks them by eye).

The signal is `grad_M`, the Frobenius norm of the task gradient on M = W_Qᵀ W_K. The rule:

1. memorisation: up to t_mem, when train accuracy met the criterion (by default 99 %, held 100 epochs).
2. explaining-away plateau: from t_mem, provided that afterwards the signal falls to `FALL` = 1/3 or less of its peak
   before t_mem. It ends at t_c, or without t_c at t_grok.
3. signal resurgence: take the largest rise of the signal between t_mem and t_grok, from a valley to a later peak. If
   the valley meets the condition of 2 and the peak is at least `RISE` = 2 times the valley, t_c is the first epoch from
   which the signal stays at or above 2 times the valley up to the peak. The phase runs from t_c to t_grok.
4. grokking: from t_grok, when test accuracy met the criterion.

Where a condition fails the phase is None. A run that has not grokked is searched up to its last epoch. Fewer than
`FEWEST` evaluations between t_mem and t_grok cannot tell a plateau from noise: then phases 2 and 3 are None.

The signal is noisy (factors of 1.3 from one evaluation to the next are usual) and spans orders of magnitude, so its
logarithm is smoothed: a running median, which drops spikes, then a running mean. Before t_mem both span 5
evaluations; after it a tenth of the evaluations there, and at least 5, because over a long flat stretch a fixed
width would find a rise in the noise alone. So t_c is known to about a tenth of the evaluations from t_mem to t_grok.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from .censored import unreached
from .times import DEFAULT, Criterion, Metrics, require_columns

FALL = 1 / 3
RISE = 2.0
FEWEST = 5


class Span(NamedTuple):
    """One phase: start ≤ epoch < end. The last phase of a run ends at its last epoch."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Phases:
    """The borders of one run's phases in epochs, None where there is none, and what decided them."""

    t_mem: int | None
    """End of memorisation."""
    t_c: int | None
    """End of the plateau: the attention gradient is back."""
    t_grok: int | None
    """Start of grokking."""
    last_epoch: int
    """Last evaluated epoch."""
    fall: float | None
    """Lowest signal after t_mem, as a fraction of its peak before; None when there were too few evaluations to tell."""
    rise: float | None
    """Largest rise of the signal after t_mem, peak over valley; None when there were too few evaluations to tell."""
    loss_bump: float | None
    """Largest train loss from its minimum on the plateau up to t_grok, over that minimum (1 = it never rose); None
    without a plateau or without grokking. The paper predicts a slight rise and does not show it."""
    signal: bool = True
    """Whether the gradient on attention was recorded; without it nothing is known of phases 2 and 3."""

    @property
    def memorisation(self) -> Span | None:
        return self._span("memorisation", 0, self._first(self.t_mem, self.t_grok))

    @property
    def plateau(self) -> Span | None:
        start = self.t_mem if self.fall is not None and self.fall <= FALL else None
        return self._span("plateau", start, self._first(self.t_c, self.t_grok))

    @property
    def resurgence(self) -> Span | None:
        return self._span("resurgence", self.t_c, self._first(self.t_grok))

    @property
    def grokking(self) -> Span | None:
        return self._span("grokking", self.t_grok, self.last_epoch)

    @property
    def borders(self) -> list[Span]:
        """The phases that are there, in order. Between t_mem and t_grok there is a gap if the plateau is missing."""
        return [span for span in (self.memorisation, self.plateau, self.resurgence, self.grokking) if span is not None]

    def _first(self, *borders: int | None) -> int:
        return min((border for border in borders if border is not None), default=self.last_epoch)

    @staticmethod
    def _span(name: str, start: int | None, end: int) -> Span | None:
        return Span(name, start, end) if start is not None else None

    def describe(self, criterion: Criterion = DEFAULT, status: str = "", score: str = "accuracy") -> list[str]:
        """One plain sentence per phase.

        criterion   the one that t_mem and t_grok were found by
        status      that of the run; "never" is used only for a run that was trained to its last epoch
        score       what the criterion is about: accuracy, or R²
        """
        return [
            f"Memorisation ({criterion.describe(f'train {score}')}): {self._say_time(self.t_mem, status)}.",
            self._say_plateau(),
            self._say_resurgence(),
            f"Grokking ({criterion.describe(f'test {score}')}): {self._say_time(self.t_grok, status)}.",
        ]

    def _say_time(self, epoch: int | None, status: str) -> str:
        return f"at epoch {epoch:,}" if epoch is not None else unreached(status, self.last_epoch)

    def _say_plateau(self) -> str:
        if self.t_mem is None:
            return "Plateau: none, the run has not memorised."
        if not self.signal:
            return "Plateau: unknown, the gradient on attention (grad_M) was not recorded."
        if self.t_grok is not None and self.t_grok <= self.t_mem:
            return "Plateau: none, the run generalised no later than it memorised."
        if self.fall is None:
            return (
                f"Plateau: none to be seen, fewer than {FEWEST} evaluations lie after memorisation and before grokking."
            )
        if self.plateau is None:
            return f"Plateau: none, the attention gradient was never below {_percent(self.fall)} of its peak."
        end = "was still on at the last evaluation," if self.t_c is None and self.t_grok is None else "lasted"
        return (
            f"Plateau: {end} epochs {self.plateau.start:,} to {self.plateau.end:,}; "
            f"the attention gradient fell to {_percent(self.fall)} of its peak."
        )

    def _say_resurgence(self) -> str:
        if not self.signal and self.t_mem is not None:
            return "Resurgence: unknown, for the same reason."
        if self.plateau is None:
            return "Resurgence: none, there was no plateau to come back from."
        if self.resurgence is None:
            return f"Resurgence: none, the attention gradient rose no more than {self.rise:.1f}×.{self._say_loss()}"
        return (
            f"Resurgence: from epoch {self.resurgence.start:,} to {self.resurgence.end:,}; "
            f"the attention gradient rose {self.rise:.1f}×.{self._say_loss()}"
        )

    def _say_loss(self) -> str:
        if self.loss_bump is None:
            return ""
        rose = f"rose to {self.loss_bump:.2f}× its minimum"
        return f" Train loss {rose if self.loss_bump >= 1.005 else 'did not rise'}."


def find_phases(metrics: Metrics, criterion: Criterion = DEFAULT) -> Phases:
    """The phases of one run from its columns epoch, train_accuracy, test_accuracy, train_loss and grad_M.

    criterion   decides t_mem and t_grok, and with them between which epochs a plateau is looked for
    """
    require_columns(metrics)
    epoch = np.asarray(metrics["epoch"])
    if not len(epoch):
        raise ValueError("a run without evaluations has no phases")
    t_mem, t_grok = (criterion.time(epoch, metrics[f"{split}_accuracy"]) for split in ("train", "test"))
    last = int(epoch[-1])
    t_c = fall = rise = bump = None
    if t_mem is not None and "grad_M" in metrics:  # a model without attention has no such gradient
        gradient, loss = (np.asarray(metrics[name], dtype=float) for name in ("grad_M", "train_loss"))
        known = np.isfinite(gradient) & np.isfinite(loss)  # the last rows of a diverged run are not
        before = known & (epoch <= t_mem)
        after = known & (epoch >= t_mem) & (epoch <= (last if t_grok is None else t_grok))
        if before.any() and after.sum() >= FEWEST:
            when, signal = epoch[after], _smooth(gradient[after])
            peak = float(_smooth(gradient[before], width=5).max())
            fall, rise = float(np.exp(signal.min() - peak)), float(np.exp(_climb(signal).max()))
            t_c = _resurgence(when, signal, peak)
            if fall <= FALL and t_grok is not None:
                bump = _bump(_smooth(loss[after]), when < (t_grok if t_c is None else t_c))
    return Phases(
        t_mem=t_mem,
        t_c=t_c,
        t_grok=t_grok,
        last_epoch=last,
        fall=fall,
        rise=rise,
        loss_bump=bump,
        signal="grad_M" in metrics,
    )


def _smooth(values: np.ndarray, width: int | None = None) -> np.ndarray:
    """Logarithm of `values`, smoothed as described above; windows shrink at the ends."""
    width = width or max(5, len(values) // 10) | 1  # odd, so that windows are centred
    log = pd.Series(np.log(np.maximum(values, np.finfo(np.float32).tiny)))
    median = log.rolling(width, center=True, min_periods=1).median()
    return np.asarray(median.rolling(width, center=True, min_periods=1).mean())


def _climb(signal: np.ndarray) -> np.ndarray:
    """How far each value lies above the lowest one before it."""
    return signal - np.minimum.accumulate(signal)


def _resurgence(when: np.ndarray, signal: np.ndarray, peak_before: float) -> int | None:
    """t_c, or None if the signal never fell or never came back."""
    peak = int(_climb(signal).argmax())
    valley = int(signal[: peak + 1].argmin())
    if signal[valley] > peak_before + np.log(FALL) or signal[peak] < signal[valley] + np.log(RISE):
        return None
    below = np.flatnonzero(signal[: peak + 1] < signal[valley] + np.log(RISE))
    return int(when[below[-1] + 1])


def _bump(loss: np.ndarray, plateau: np.ndarray) -> float:
    """Largest smoothed loss after its minimum on the plateau, over that minimum."""
    lowest = int(loss[plateau].argmin())
    return float(np.exp(loss[lowest:].max() - loss[lowest]))


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %" if fraction >= 0.1 else f"{100 * fraction:.2g} %"
