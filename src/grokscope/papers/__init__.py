"""The papers: experiments, rules, equations, audit and figures of each. The instrument never imports them."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..theory import Equation


def all_equations() -> list[Equation]:
    """Every equation: those of `grokscope.theory`, then those in the `equations` of each paper."""
    from ..theory import equations

    for paper in pkgutil.iter_modules(__path__, f"{__name__}."):
        if importlib.util.find_spec(f"{paper.name}.equations"):
            importlib.import_module(f"{paper.name}.equations")
    return equations()
