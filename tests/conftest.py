"""Shapes are checked at every call, one thread per worker, and hypothesis does not time anything."""

import os
import subprocess
import sys

os.environ.setdefault("GROKSCOPE_CHECK_SHAPES", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import grokscope  # noqa: F401, I001  # first, so that MKL is asked for reproducible products

import pytest
import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
settings.register_profile("grokscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("grokscope")


@pytest.fixture
def say_same():
    """Runs code that compares GPU kernels with their references and prints "same"."""
    pytest.importorskip("triton", reason="Triton is not installed on this platform")

    def run(code):
        """On a GPU the kernels run; without one Triton's interpreter checks their arithmetic."""
        environment = os.environ | ({} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"})
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.stdout.strip() == "same", done.stderr

    return run


@pytest.fixture
def tiny():
    return tiny_config()


def tiny_config():
    """A run small enough to train hundreds of epochs in a second."""
    from grokscope.config import Log, RunConfig
    from grokscope.models.transformer import Transformer
    from grokscope.optim.adamw import AdamW
    from grokscope.priors.kl import KL
    from grokscope.tasks.modular import Modular

    return RunConfig(
        task=Modular(p=7, distractors=2, alphabet=3, train_fraction=0.6),
        model=Transformer(d=8, d_mlp=16),
        optim=AdamW(lr=1e-2),
        prior=KL(beta=0.1),
        epochs=12,
        log=Log(every=5),
    )


@pytest.fixture(scope="session")
def on_disk(tmp_path_factory):
    """Settings of the tasks that read files, with a folder of a few made-up examples: enough for a reader, not for science."""
    digits, reviews = (tmp_path_factory.mktemp(name) for name in ("digits", "aclImdb"))
    generator = torch.Generator().manual_seed(0)
    for part, size in (("train", 20), ("t10k", 10)):
        images = torch.randint(256, (size, 28, 28), generator=generator)
        for name, values in (("images-idx3", images), ("labels-idx1", torch.arange(size) % 10)):
            header = bytes([0, 0, 8, values.ndim]) + b"".join(length.to_bytes(4, "big") for length in values.shape)
            (digits / f"{part}-{name}-ubyte").write_bytes(header + bytes(values.flatten().tolist()))
    words = {"pos": ["good", "fine", "great", "the"], "neg": ["bad", "poor", "dull", "the"]}
    for part, name in ((part, name) for part in ("train", "test") for name in words):
        (reviews / part / name).mkdir(parents=True)
        for number in range(8):
            chosen = torch.randint(4, (3 + number,), generator=generator).tolist()
            text = f"{part} {number} " + " ".join(words[name][word] for word in chosen)
            (reviews / part / name / f"{number}.txt").write_text(text)
    few = {"train_size": 18, "test_size": 9}
    return {
        "mnist": {"folder": str(digits), **few},
        "fashion-mnist": {"folder": str(digits), **few},
        "imdb": {"folder": str(reviews), "words": 7, "length": 6, **few},
    }


class Memory:
    """A sink that keeps everything in memory."""

    def __init__(self, saved=None):
        self.saved = saved
        self.rows, self.appended, self.saves, self.closed, self.reason = [], [], [], False, ""

    def resume(self):
        return self.saved

    def save(self, *, epoch, rows, tensors, metadata, status, keep):
        self.rows += rows
        self.saves.append((epoch, status, keep))
        self.saved = (epoch, metadata, tensors)

    def append(self, rows):
        self.appended += rows

    def fail(self, reason):
        self.reason = reason
        self.close()

    def close(self):
        self.closed = True

    @property
    def status(self):
        return self.saves[-1][1]


@pytest.fixture
def memory():
    return Memory


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder: exit code, stdout, stderr."""
    import sys

    from grokscope.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["grokscope", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        out = capsys.readouterr()
        return stop.value.code, out.out, out.err

    return call


def pytest_terminal_summary(terminalreporter):
    """Print the counts that tests record with `record_property("counts", …)`."""
    reports = (report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, []))
    lines = [value for report in reports for name, value in report.user_properties if name == "counts"]
    if lines:
        terminalreporter.section("counts")
        for line in sorted(lines):
            terminalreporter.line(line)


@pytest.fixture
def unload():
    """Forgets what was loaded, as a new process would; every test ends with it."""
    from grokscope import loading
    from grokscope.measures import measures
    from grokscope.optim import optimizers
    from grokscope.probes import probes

    registries = [(registry, dict(registry.entries())) for registry in (measures, optimizers, probes)]
    modules, path = set(sys.modules), list(sys.path)

    def forget():
        for registry, before in registries:
            registry.entries().clear()
            registry.entries().update(before)
        for name in set(sys.modules) - modules:
            if loading._file(sys.modules[name]).startswith(tuple(map(str, loading._folders))):
                del sys.modules[name]
        sys.path[:] = path
        loading._files.clear()
        loading._folders.clear()

    yield forget
    forget()
