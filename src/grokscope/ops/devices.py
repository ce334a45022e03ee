"""Devices by name."""

from __future__ import annotations

import torch

from ..errors import ConfigError


def resolve_device(name: str) -> torch.device:
    """The device called `name`; "auto" is the GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError("device", f"unknown device {name!r}. Choose from: auto, cpu, cuda.") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError("device", f"{name!r} is not supported. Choose from: auto, cpu, cuda.")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device", "cuda was requested, but PyTorch finds no CUDA device. Use --device cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError("device", f"{name}: there are only {torch.cuda.device_count()} CUDA devices")
    return device


def device_name(device: torch.device) -> str:
    """The name of a device in a manifest."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
