"""MKL is asked for reproducible products before its first one, the user's own choice is respected, and a late request is reported.

MKL keeps its mode for the life of a process, so every case is a process of its own.
"""

import json
import os
import subprocess
import sys

import pytest
import torch

from grokscope.ops.blas import float32_products, numerics

needs_mkl = pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this PyTorch is built without MKL")

MULTIPLY = "import torch; torch.rand(64, 64) @ torch.rand(64, 64)"
LATE = (
    "PyTorch had computed before grokscope was imported: the bits of a run may depend on where its matrices lie in memory. "
    "Import grokscope first, or set MKL_CBWR=AUTO.\n"
)
TRAIN = """
from dataclasses import replace
from grokscope.config import RunConfig
from grokscope.fleet.data import lane_data
from grokscope.fleet.program import Program
from grokscope.models.transformer import Transformer
from grokscope.tasks.modular import Modular
import torch
config = RunConfig(task=Modular(p=5), model=Transformer(d=8, d_mlp=16))
for seed in range(2):
    program = Program(config, 1, torch.device("cpu"))
    program.load(0, config, lane_data(config))
    start = program.flat.clone()
    for _ in range(3):
        program.train_epoch()
    assert program.flat.isfinite().all() and not torch.equal(program.flat, start)
"""
SHOW = """
import json, torch
from grokscope.ops import blas
print(json.dumps(blas.numerics(torch.device("cpu"), 1)))
"""


def python(*parts, **environment):
    """Standard output and error of a new process, without MKL_CBWR unless it is given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MKL_")}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(parts)], env=inherited | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def mode(*parts, **environment):
    out, err = python(*parts, SHOW, **environment)
    return json.loads(out)["mkl_cbwr"], err


@needs_mkl
@pytest.mark.parametrize("first", ["import grokscope", "import torch", "import torch, grokscope"])
def test_mkl_is_asked_before_its_first_product(first):
    """Also where PyTorch was imported first, as long as it has not computed."""
    assert mode(first, "import grokscope.ops.blas as blas", "blas.pin_products()", MULTIPLY) == ("AUTO", "")


@needs_mkl
def test_the_import_alone_is_enough():
    """By the environment variable, so that it holds for products of the user's own too."""
    code = "import grokscope", MULTIPLY, "from grokscope.ops.blas import _mkl", "print(_mkl().mkl_serv_cbwr_get(1))"
    assert python(*code) == ("2\n", "")  # MKL_CBWR_AUTO


@needs_mkl
def test_a_request_that_comes_too_late_is_reported_once_and_training_works():
    out, err = python(MULTIPLY, TRAIN, SHOW)
    assert err == LATE
    found = json.loads(out)
    assert found["mkl_cbwr"] == "off"
    assert found["promise"].startswith("none")


@needs_mkl
def test_the_users_own_mode_is_respected_and_recorded():
    assert mode("import grokscope", MULTIPLY, MKL_CBWR="COMPATIBLE") == ("COMPATIBLE", "")
    assert mode(MULTIPLY, "import grokscope", MKL_CBWR="COMPATIBLE") == ("COMPATIBLE", "")
    strict, err = mode("import grokscope", MULTIPLY, MKL_CBWR="AVX2,STRICT")
    assert strict in ("AVX2,STRICT", "AUTO,STRICT")  # AUTO on processors that are not Intel's
    assert err == ""


def test_without_mkl_nothing_is_said():
    hidden = "import torch; torch.backends.mkl.is_available = lambda: False"
    out, err = python(MULTIPLY, hidden, TRAIN, SHOW)
    found = json.loads(out)
    assert err == ""
    assert (found["blas"], found["mkl_cbwr"]) == ("other", "")
    assert found["promise"].startswith("the same bits")


def test_numerics_are_plain_data_and_name_processor_instructions_and_version():
    found = numerics(torch.device("cpu"), lanes=1)
    assert json.loads(json.dumps(found)) == found
    assert found == numerics(torch.device("cpu"), lanes=7)  # lanes are without effect here
    assert found["torch"] == torch.__version__
    assert found["capability"] == torch.backends.cpu.get_cpu_capability()
    assert found["cpu"]


@pytest.mark.parametrize("allowed", ["highest", "high", "medium"])
def test_products_are_those_of_float32_even_where_others_are_allowed(allowed):
    a, b = torch.rand(2, 96, 96, generator=torch.Generator().manual_seed(0))
    exact = a @ b
    torch.set_float32_matmul_precision(allowed)
    try:
        with float32_products():
            assert torch.equal(a @ b, exact)
        assert torch.get_float32_matmul_precision() == allowed
    finally:
        torch.set_float32_matmul_precision("highest")
