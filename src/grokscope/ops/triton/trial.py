"""A minimal kernel that tests whether kernels can be compiled and run."""

from __future__ import annotations

import threading

import torch
import triton
import triton.language as tl

from .compiler import read_triton


def runs() -> bool:
    reading = threading.Thread(target=read_triton)
    reading.start()
    there = torch.zeros(1, device="cuda")  # creates the GPU's context meanwhile
    reading.join()
    _store_one[(1,)](there)
    return bool(there.item() == 1)


@triton.jit
def _store_one(there):
    tl.store(there, 1.0)
