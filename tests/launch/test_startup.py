"""What training imports: modules that it does not need take longer to import than a short run takes to train."""

from __future__ import annotations

import subprocess
import sys

TRAIN = """
import sys
from grokscope import RunConfig, train
train(RunConfig.from_dict({"epochs": 2, "task": {"p": 7}}), runs=sys.argv[1], device="cpu")
print(*(name for name in ("torch._dynamo", "sympy", "triton", "matplotlib", "pandas") if name in sys.modules))
"""

THREADS = """
import sys, threading
from dataclasses import replace
from grokscope import RunConfig, train_all

found = []

def note(event, words):
    if event == "import" and threading.current_thread() is not threading.main_thread():
        found.append(words[0])

sys.addaudithook(note)
base = RunConfig.from_dict({"epochs": 20, "task": {"p": 7}, "log": {"every": 5, "keep": 10}})
train_all([replace(base, seed=seed) for seed in range(3)], runs=sys.argv[1], device="cpu", lanes=3, save_every=0.0)
print(*sorted({name for name in found if name.partition(".")[0] in ("numpy", "pandas")}))
"""

COLLECTIONS = """
import gc
before = gc.get_stats()[2]["collections"]
from grokscope.config import RunConfig
from grokscope.launch.local import train_all
young = sum(len(gc.get_objects(generation=generation)) for generation in (0, 1))
print(gc.get_stats()[2]["collections"] - before, gc.isenabled(), young < 10_000 < len(gc.get_objects()), gc.get_freeze_count())
"""

SPARED = """
import gc, sys
from grokscope import RunConfig, train

class Seen:
    def __init__(self):
        self.spared = []
    def update(self, lanes, waiting):
        self.spared.append(gc.get_freeze_count())

config, first, second = RunConfig.from_dict({"epochs": 2, "task": {"p": 7}}), Seen(), Seen()
train(config, seeds=[0], runs=sys.argv[1], device="cpu", progress=first)
train(config, seeds=[1], runs=sys.argv[1], device="cpu", progress=second)
print(min(first.spared) > 100_000, max(second.spared), gc.get_freeze_count())
"""


def test_training_imports_no_compiler(tmp_path):
    done = subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_no_two_threads_import_numpy_at_once(tmp_path):
    """In the instant in which one of them has, another one gets a RecursionError from numpy."""
    done = subprocess.run([sys.executable, "-c", THREADS, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_imports_search_for_no_garbage():
    """All of their objects stay; each search of all generations takes a tenth of a second."""
    done = subprocess.run([sys.executable, "-c", COLLECTIONS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "True", "True", "0"]


def test_the_first_training_does_not_search_the_objects_of_imports(tmp_path):
    """The next one does: what was left of the first could be among them."""
    done = subprocess.run([sys.executable, "-c", SPARED, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "0", "0"]
