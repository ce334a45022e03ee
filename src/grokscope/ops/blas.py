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
import sys
from pathlib import Path

import torch

_BRANCH, _OFF, _AUTO = 1, 1, 2  # MKL_CBWR_BRANCH, MKL_CBWR_BRANCH_OFF, MKL_CBWR_AUTO


@functools.cache
def pin_products() -> str:
    """Request reproducible products from MKL; return the active mode: the value of MKL_CBWR, "off", or "" without MKL."""
    mkl = _mkl()
    if mkl is None:
        return ""
    if mkl.mkl_serv_cbwr_get(_BRANCH) == _OFF and mkl.mkl_serv_cbwr_set(_AUTO) != 0:
        print(
            "PyTorch had computed before grokscope was imported: the bits of a run may depend on where its matrices lie in "
            "memory. Import grokscope first, or set MKL_CBWR=AUTO.",
            file=sys.stderr,
        )
        return "off"
    return os.environ.get("MKL_CBWR") or "AUTO"


def numerics(device: torch.device, lanes: int) -> dict[str, object]:
    """For the manifest: what the bits of a run depend on, and the guarantee of reproducibility."""
    if device.type == "cuda":
        capability = ".".join(map(str, torch.cuda.get_device_capability(device)))
        promise = "the same bits on the same GPU with the same lanes and versions, else the same distribution"
        return {"promise": promise, "lanes": lanes, "capability": capability, "cuda": torch.version.cuda}
    return {
        "promise": "the same bits on this kind of CPU with the same versions, whatever trains beside it",
        "blas": "mkl" if torch.backends.mkl.is_available() else "other",
        "mkl_cbwr": pin_products(),
        "capability": torch.backends.cpu.get_cpu_capability(),
    }


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
