"""What training imports: modules that it does not need take longer to import than a short run takes to train."""

from __future__ import annotations

import subprocess
import sys

TRAIN = """
import sys
from grokscope import RunConfig, train
train(RunConfig.from_dict({"epochs": 2, "task": {"p": 7}}), runs=sys.argv[1], device="cpu")
print(*(name for name in ("torch._dynamo", "sympy", "triton", "matplotlib") if name in sys.modules))
"""


def test_training_imports_no_compiler(tmp_path):
    done = subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
