"""Features of a network on a set of inputs: how alike two sets are, and how many directions one of them uses.

Linear CKA is that of Kornblith et al. (2019), the effective rank that of Roy and Vetterli (2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shapes import Float

Values = NDArray[np.float64]


def linear_cka(features: Float[Values, "example width"], other: Float[Values, "example width"]) -> float:
    """How alike two sets of features of the same inputs are: ‖YᵀX‖² / (‖XᵀX‖ ‖YᵀY‖) of the centred X and Y, in [0, 1].

    1 for features that are equal up to rotation and scale; about width/examples for independent ones. NaN where one
    of them is constant.
    """
    x, y = (_centred(f) for f in (features, other))
    own = np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)
    return float(np.linalg.norm(y.T @ x) ** 2 / own) if own > 0 else float("nan")


def variances(features: Float[Values, "example width"]) -> Float[Values, "direction"]:
    """Variance of the features along each of their principal directions, the largest first."""
    x = _centred(features)
    return np.clip(np.linalg.eigvalsh(x.T @ x / len(x))[::-1], 0.0, None)


def participation_ratio(variances: Float[Values, "direction"]) -> float:
    """(Σ_i λ_i)² / Σ_i λ_i²: n where n directions share the variance evenly; 0 where there is none."""
    squares = np.square(variances).sum()
    return float(variances.sum() ** 2 / squares) if squares > 0 else 0.0


def effective_rank(variances: Float[Values, "direction"]) -> float:
    """exp of the entropy of σ_i / Σσ, σ_i = √λ_i the singular values; 0 where there is no variance."""
    spread = np.sqrt(variances)
    if not spread.sum() > 0:
        return 0.0
    share = spread / spread.sum()
    share = share[share > 0]
    return float(np.exp(-(share * np.log(share)).sum()))


def pca_dimension(variances: Float[Values, "direction"], share: float = 0.95) -> int:
    """How many principal directions hold `share` of the variance; 0 where there is none."""
    total = np.cumsum(variances)
    # a share that rounding puts a little too high must not ask for one direction more
    return int(np.searchsorted(total, share * total[-1] * (1 - 1e-12)) + 1) if total[-1] > 0 else 0


def _centred(features: Any) -> Values:
    x = np.asarray(features, dtype=np.float64)
    return x - x.mean(0)
