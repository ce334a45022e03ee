"""Global randomness inside a run is an error: the run could not be repeated or resumed, and its neighbours would share it."""

from __future__ import annotations

import ctypes
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.random import mtrand
from torch.utils._python_dispatch import TorchDispatchMode

from ..errors import ConfigError

IN_STEPS = "draw from the key that forward, update, penalty and measures are given, such as key.uniform(purpose, shape)"
AT_START = "draw from the generator that is given, or from grokscope.randomness.stream(seed, purpose)"
"""Advice for code that runs in training, and for code that makes data and initial weights."""


_WATCHING = threading.RLock()
_NUMPY_BYTES = 4 * (624 + 1)
"""Size of the state of a Mersenne twister in NumPy: 624 words and the place among them."""


class _Watch(TorchDispatchMode):
    """Called for every operation."""

    def __init__(self, advice: str):
        super().__init__()
        self.advice = advice

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here. PyTorch would otherwise import its compiler at the first operation: seconds at every start."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags and _draws(func, args, given):
            raise _refused(f"{func.overloadpacket.__name__} draws from PyTorch's global generator", self.advice)
        return func(*args, **given)


def _draws(func: Any, args: Any, given: Any) -> bool:
    """Whether a call of an operator that may draw from the global generator does so: attention kernels without dropout do not."""
    names = [argument.name for argument in func._schema.arguments]
    if "dropout_p" in names:
        place = names.index("dropout_p")
        return bool(args[place] if place < len(args) else given.get("dropout_p", 0.0))
    return given.get("generator") is None


@contextmanager
def no_global_randomness(advice: str = IN_STEPS) -> Iterator[None]:
    """Context in which a draw from PyTorch's global generator raises at its own line. Slow: use it for one step.

    One thread at a time: PyTorch does not make the Python handles of its operators safely in several threads at once.
    """
    try:
        with _WATCHING, _Watch(advice):
            yield
    except RuntimeError as error:
        if "randomness error mode" not in str(error):  # vmap sees it first
            raise
        raise _refused("an operation draws from PyTorch's global generator", advice) from error


@contextmanager
def no_randomness_at_start() -> Iterator[None]:
    """Context in which a run's data or initial weights are made: raise if a global generator was drawn from."""
    before = global_states()
    yield
    check_global_states(before, AT_START)


def global_states() -> dict[str, object]:
    """States of the global generators, which training must not change."""
    return {
        "PyTorch": torch.random.get_rng_state().numpy().tobytes(),
        "NumPy": _numpy_state(),
        "Python": random.getstate(),
    }


def _numpy_state() -> object:
    """State of NumPy's global generator. That of the usual kind is read as bytes, which takes much less time than `get_state`: a
    search asks for it four times per candidate."""
    generator = mtrand.get_bit_generator()
    if type(generator) is not np.random.MT19937:
        return repr(generator.state)
    return ctypes.string_at(generator.ctypes.state_address, _NUMPY_BYTES)


def check_global_states(before: dict[str, object], advice: str = IN_STEPS) -> None:
    """Raise if a global generator has changed; cheap enough for every call of training."""
    for name, state in global_states().items():
        if state != before[name]:
            raise _refused(f"the run drew from the global generator of {name}", advice)


def _refused(what: str, advice: str) -> ConfigError:
    return ConfigError("randomness", f"{what}; {advice}")
