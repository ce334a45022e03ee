from dataclasses import replace

import pytest

from grokscope.config import Log, Stop
from grokscope.launch.local import train_all
from grokscope.run import StoredRun
from tests.conftest import tiny_config


@pytest.fixture(scope="module")
def memorised(tmp_path_factory):
    """A run that memorises and does not generalise."""
    runs = tmp_path_factory.mktemp("runs")
    tiny = tiny_config()
    tiny = replace(
        tiny,
        epochs=150,
        prior=replace(tiny.prior, beta=0.0),
        log=Log(every=5, keep=25),
        stop=Stop(accuracy=0.0),
        task=replace(tiny.task, p=11, train_fraction=0.3),
        model=replace(tiny.model, d=32, d_mlp=64),
    )
    (info,) = train_all([tiny], runs=runs, device="cpu")
    return StoredRun(info)
