"""Waking a GPU and its compiler while Python does other things.

Starting the driver and creating the context of a GPU take half a second or more in which the interpreter is not needed, but PyTorch
keeps it. Here a thread asks the driver directly, and PyTorch finds the context there.
"""

from __future__ import annotations

import ctypes
import os
import threading

import torch

from .triton import warm_up


def wake(name: str) -> threading.Thread | None:
    """Begin to wake the GPU of this name, "auto" included; None where there is nothing to wake. PyTorch should be asked about
    devices when the thread has ended: it would keep the interpreter until then."""
    kind, _, number = name.partition(":")
    if kind not in ("auto", "cuda") or not (number or "0").isdecimal():
        return None
    # a process that has used a GPU may have chosen another one as its own
    if torch.version.cuda is None or torch.cuda.is_initialized():
        return None
    # as PyTorch sets it; the driver reads it once
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    thread = threading.Thread(target=_wake, args=(int(number or 0),), daemon=True)
    thread.start()
    return thread


def _wake(number: int) -> None:
    """What fails here fails again, with a message, when PyTorch asks."""
    driver = _driver()
    if driver is None or driver.cuInit(0):
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuDeviceGet(ctypes.byref(device), number):
        return
    threading.Thread(target=warm_up, daemon=True).start()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)  # kept until the process ends, as PyTorch keeps it


def _driver() -> ctypes.CDLL | None:
    """The driver's library; a call of its functions leaves the interpreter to other threads."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:  # no GPU, or not on Linux
        return None
