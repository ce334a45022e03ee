"""Files and options become configs: what a chosen component also has is kept, what it lacks is named in one line."""

from pathlib import Path

import pytest

from grokscope.config.files import read_config
from grokscope.errors import ConfigError
from grokscope.launch.grid import read_grid
from grokscope.tasks.addition import Addition
from grokscope.tasks.parity import Parity

FILE = """
epochs = 50
[task]
p = 37
train_fraction = 0.5
op = "-"
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = Path("my.toml")
    path.write_text(FILE)
    return path


def test_an_option_keeps_what_the_file_says_of_the_component(file, capsys):
    config = read_config(file, {"task": "k-addition", "task.k": "2"})
    assert config.task == Addition(p=37, train_fraction=0.5, k=2)
    assert config.epochs == 50
    assert capsys.readouterr().err == "task k-addition has no setting op (from my.toml): ignored\n"


def test_nothing_is_said_where_nothing_is_lost(file, capsys):
    assert read_config(file, {"task": "modular", "optim": "sgd"}).task.p == 37
    assert capsys.readouterr().err == ""


def test_a_grid_says_it_once_for_all_its_points(file, capsys):
    file.write_text(FILE + '[grid]\ntask = ["modular", "parity"]\n"optim.lr" = [0.1, 0.2, 0.3]\n')
    configs = read_grid(file, {}, [0, 1])
    assert [c.task.kind for c in configs] == ["modular"] * 6 + ["parity"] * 6
    assert configs[0].task.p == 37
    assert configs[-1].task == Parity(train_fraction=0.5)
    assert capsys.readouterr().err == "task parity has no setting p, op (from my.toml): ignored\n"


def test_a_grid_names_both_places_a_setting_may_come_from(file, capsys):
    file.write_text(FILE + '[grid]\ntask = ["parity"]\n')
    read_grid(file, {"task.pairs": "unordered"}, [0])
    assert capsys.readouterr().err == "task parity has no setting p, op, pairs (from my.toml or --set): ignored\n"


def test_seeds_of_a_grid_come_from_seed_or_seeds_not_from_both(file):
    file.write_text("seed = 5\n" + FILE + '[grid]\n"optim.lr" = [0.1, 0.2]\n')
    assert [config.seed for config in read_grid(file, {}, None)] == [5, 5]
    assert [config.seed for config in read_grid(file, {"seed": 6}, None)] == [6, 6]
    with pytest.raises(ConfigError, match="seed: 5 is set, but --seeds chooses other seeds"):
        read_grid(file, {}, [0, 1])
    file.write_text(FILE + "[grid]\nseed = [3, 4]\n")
    assert [config.seed for config in read_grid(file, {}, None)] == [3, 4]
    file.write_text("seeds = 2\n" + FILE + "[grid]\nseed = [3, 4]\n")
    with pytest.raises(ConfigError, match="seed: 3 is set, but seeds chooses other seeds"):
        read_grid(file, {}, None)
