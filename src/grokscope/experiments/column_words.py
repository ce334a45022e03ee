"""Names of columns as words, for people who read verdicts; tables and rules keep the names."""

from __future__ import annotations

import re

WORDS = {
    "D_mem": "D at memorisation",
    "D_start": "D at the start",
    "best_test_accuracy": "best test accuracy",
    "distractor_reliance": "accuracy lost with foreign distractors",
    "effective_rank_train": "effective rank on training inputs",
    "entropy_mem": "attention entropy at memorisation",
    "entropy_wait": "attention entropy while it waits",
    "equal_norm_lost": "accuracy lost at equal norms",
    "fourier_early": "early Fourier entropy",
    "fourier_end": "Fourier entropy at the end",
    "fourier_start": "Fourier entropy at the start",
    "gain": "gain in test accuracy",
    "kept_train": "share kept on training inputs",
    "kernel_drift": "relative drift of the kernel",
    "kernel_moved_before": "share of the kernel's way before it generalises",
    "kernel_start": "distance of the kernel from its start",
    "kernel_stillest": "least step of the kernel",
    "l1_end": "L1 norm at the end",
    "likeness": "likeness of the hidden layer to its start",
    "mlp_norm_mem": "MLP norm at memorisation",
    "model.d": "width d",
    "model.readout_scale": "readout scale α",
    "moved_before": "share of the features' way before it generalises",
    "origin_accuracy": "test accuracy of the ticket's origin",
    "participation_ratio": "participation ratio",
    "stillest": "highest likeness of two checkpoints in a row",
    "symbols": "number of symbols",
    "t_compressed": "first checkpoint at half the rank",
    "test_accuracy": "test accuracy",
    "test_seen": "share of test examples that the origin saw",
    "ticket.rate": "pruning rate",
    "unit_norm_loss": "rise of the loss at norm 1",
    "unit_norm_lost": "accuracy lost at norm 1",
}
_NAMES = re.compile(r"(?<![\w.])(" + "|".join(map(re.escape, sorted(WORDS, key=len, reverse=True))) + r")(?![\w.])")
_JOINED = re.compile(r"(?<=[a-z]{2})_(?=[a-z])")
"""An underscore between words, not that of t_mem or W_in."""
_AFTER = re.compile(r"\baccuracy_(\d+)\b")


def in_words(name: str) -> str:
    """mean of best_test_accuracy → mean of best test accuracy; accuracy_2000 → test accuracy after 2,000 epochs"""
    plain = _AFTER.sub(lambda found: f"test accuracy after {int(found[1]):,} epochs", name)
    return _JOINED.sub(" ", _NAMES.sub(lambda found: WORDS[found[1]], plain))
