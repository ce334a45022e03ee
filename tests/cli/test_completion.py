"""What the shell completes: the names that are read from the source are those that are registered."""

import json
import sys

import pytest

from grokscope.cli.completion import complete, names_of
from grokscope.cli.listing import _registry
from grokscope.experiments.base import all_experiments


@pytest.mark.parametrize("what", ["tasks", "models", "priors", "optimizers", "filters", "losses"])
def test_components(what):
    known = [name for name, thing in _registry(what)[0].entries().items() if thing.__module__.startswith("grokscope.")]
    assert names_of(what) == sorted(known)


def test_experiments():
    known = [name for name in all_experiments() if not name.startswith("toy")]  # other tests register some
    assert names_of("experiments") == sorted(known)
    assert complete("experiments")("si-fig10") == ["si-fig10", "si-fig10-parity", "si-fig10-permutations"]


def test_figures_that_plot_draws(run):
    listed = [one["name"] for one in json.loads(run("plot", "--json")[1])]
    assert set(names_of("figures")) <= set(listed) and "movie" in names_of("figures")
    own = {name for name in listed if not name.startswith(("my-", "toy"))}
    assert own <= set(names_of("figures"))


def test_a_key_that_is_pressed_does_not_import_torch():
    import subprocess

    code = "from grokscope.cli.completion import names_of; import sys; assert names_of('tasks'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
