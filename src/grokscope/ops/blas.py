"""Matrix products on a CPU whose bits do not depend on where the matrices lie in memory.

MKL chooses its code by the alignment of each matrix, unless conditional numerical reproducibility (CNR) is requested before its
first product. `import grokscope` sets the environment variable MKL_CBWR unless the user has set it; this module requests CNR
if PyTorch was imported earlier, and warns once if MKL has already been used. Other libraries (OpenBLAS, Accelerate) have no such
switch; see docs/reproducibility.md.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

_BRANCH, _ALL, _STRICT = 1, -1, 0x10000  # MKL_CBWR_BRANCH, MKL_CBWR_ALL, MKL_CBWR_STRICT
_OFF, _AUTO = 1, 2
_MODES = {
    _OFF: "off",
    _AUTO: "AUTO",
    3: "COMPATIBLE",
    4: "SSE2",
    6: "SSSE3",
    7: "SSE4_1",
    8: "SSE4_2",
    9: "AVX",
    10: "AVX2",
    12: "AVX512",
    14: "AVX512_E1",
}
"""Names of MKL's modes, as in MKL_CBWR."""


@functools.cache
def pin_products() -> str:
    """Request reproducible products from MKL; return the active mode, "" without MKL.

    The mode is the one that MKL reports: a processor of another make has AUTO and COMPATIBLE alone, whatever MKL_CBWR requests.
    """
    mkl = _mkl()
    if mkl is None:
        return ""
    if mkl.mkl_serv_cbwr_get(_BRANCH) == _OFF and mkl.mkl_serv_cbwr_set(_AUTO) != 0:
        print(
            "PyTorch had computed before grokscope was imported: the bits of a run may depend on where its matrices lie in "
            "memory. Import grokscope first, or set MKL_CBWR=AUTO.",
            file=sys.stderr,
        )
    mode = mkl.mkl_serv_cbwr_get(_ALL)
    name = _MODES.get(mode & ~_STRICT, str(mode))
    return f"{name},STRICT" if mode & _STRICT else name


@contextmanager
def float32_products() -> Iterator[None]:
    """Inside, float32 products on a CPU are computed in float32, even where a script has allowed others
    (`torch.set_float32_matmul_precision("medium")`). The setting is that of the whole process; it is restored afterwards."""
    setting = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]  # made when it is imported
    before = setting.fp32_precision
    setting.fp32_precision = "ieee"
    try:
        yield
    finally:
        setting.fp32_precision = before


def numerics(device: torch.device, lanes: int) -> dict[str, Any]:
    """What a run's bits depend on, for its manifest, and what is promised of them.

    lanes   of the program that trains it; on a CPU without effect
    """
    versions = {"torch": str(torch.__version__)}
    if device.type == "cuda":
        return {
            "promise": "the same bits on the same GPU with the same lanes and versions, else the same distribution",
            "gpu": torch.cuda.get_device_name(device),
            "capability": ".".join(map(str, torch.cuda.get_device_capability(device))),
            "lanes": lanes,
            "cuda": torch.version.cuda,
        } | versions
    mode = pin_products()
    promise = "the same bits on this kind of CPU with the same versions, independent of other runs, workers and threads"
    if mode == "off":
        promise = "none: MKL was in use before it could be asked for reproducible products"
    return {
        "promise": promise,
        "cpu": _cpu(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "blas": "mkl" if torch.backends.mkl.is_available() else "other",
        "mkl_cbwr": mode,
        "mkl_instructions": os.environ.get("MKL_ENABLE_INSTRUCTIONS", ""),
    } | versions


@functools.cache
def _cpu() -> str:
    """The processor by name, or at least its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _mkl() -> ctypes.CDLL | None:
    """MKL inside PyTorch's own library, if it is there and exports the switch."""
    if not torch.backends.mkl.is_available():
        return None
    for name in ("libtorch_cpu.so", "libmkl_core.so.2", "libmkl_rt.so.2"):
        path = Path(torch.__file__).parent / "lib" / name
        try:
            library = ctypes.CDLL(str(path) if path.exists() else name)
            library.mkl_serv_cbwr_get  # noqa: B018
            library.mkl_serv_cbwr_set  # noqa: B018
        except (OSError, AttributeError):
            continue
        return library
    return None
