"""The precision "auto": TF32 on a GPU that has it, which leaves grokking times distributed as in float32 (`speed-bf16`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch

from ..config import RunConfig

TF32_SINCE = (8, 0)
"""Compute capability of the first GPUs whose tensor cores take TF32."""


def resolved(config: RunConfig, device: torch.device) -> RunConfig:
    """The config with the precision that it is trained and stored with: TF32 on a GPU that has it, else float32."""
    return replace(config, precision=auto_precision(device)) if config.precision == "auto" else config


def auto_precision(device: torch.device) -> Literal["float32", "tf32"]:
    fast = device.type == "cuda" and torch.cuda.get_device_capability(device) >= TF32_SINCE
    return "tf32" if fast else "float32"
