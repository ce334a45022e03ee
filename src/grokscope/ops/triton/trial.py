"""A minimal kernel that tests whether kernels can be compiled and run."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


def runs() -> bool:
    there = torch.zeros(1, device="cuda")
    _store_one[(1,)](there)
    return bool(there.item() == 1)


@triton.jit
def _store_one(there):
    tl.store(there, 1.0)
