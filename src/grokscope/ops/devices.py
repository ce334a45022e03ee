"""Where to compute: devices by name."""

from __future__ import annotations

import torch

from ..errors import ConfigError


def resolve_device(name: str) -> torch.device:
    """auto is the GPU where there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError("device", f"{name!r} is no device. Choose from: auto, cpu, cuda.") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError("device", f"{name!r} is not supported. Choose from: auto, cpu, cuda.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device", "cuda was asked for, but PyTorch sees no CUDA device here. Use --device cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError("device", f"{name}: there are only {torch.cuda.device_count()} CUDA devices")
    return device


def device_name(device: torch.device) -> str:
    """What to call a device in a manifest."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
