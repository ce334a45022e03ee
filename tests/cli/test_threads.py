"""How many threads a command uses for small matrices."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("own", "threads"), [(None, "1"), ("3", "3")])
def test_the_small_matrices_of_scipy_have_one_thread_unless_the_user_says_otherwise(tmp_path, own, threads):
    (tmp_path / "look.py").write_text(
        "import os, sys\nprint(os.environ.get('OPENBLAS_NUM_THREADS'), 'scipy' in sys.modules, 'numpy' in sys.modules)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-m", "grokscope", "--load", str(tmp_path / "look.py"), "list", "predictors"]
    environment |= {"OPENBLAS_NUM_THREADS": own} if own else {}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert out.splitlines()[0] == f"{threads} False False", "the limit is read when these are imported"
