"""Configs: round trips, ids, words from the command line, and one clear line for invalid settings."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grokscope.config import COMPONENTS, Log, RunConfig, Stop, combine, merge, nested
from grokscope.errors import ConfigError, nearest
from grokscope.optim.adamw import AdamW
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity


def from_words(*words):
    return RunConfig.from_dict(nested(dict(word.split("=", 1) for word in words)))


@pytest.mark.parametrize(
    ("component", "kind"), [(component, kind) for component in COMPONENTS for kind in COMPONENTS[component].entries()]
)
def test_every_entry_survives_json(component, kind):
    config = replace(RunConfig(), **{component: COMPONENTS[component].get(kind)()})
    again = RunConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert again.id == config.id


@given(st.floats(1e-6, 10), st.integers(2, 300), st.sampled_from(["+", "-", "*", "x2+y2"]), st.integers(0, 10**6))
def test_numbers_survive_json_and_the_id_depends_on_them(lr, p, op, seed):
    config = RunConfig(task=Modular(p=p, op=op), optim=AdamW(lr=lr), seed=seed)
    assert RunConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert replace(config, seed=seed + 1).id != config.id


def test_the_id_is_a_hash_of_what_changes_the_numbers():
    other = (
        RunConfig(),
        RunConfig(task=Modular(p=97)),
        RunConfig(prior=KL(target="uniform")),
        RunConfig(precision="tf32"),
        RunConfig(init_seed=3),
        RunConfig(optim=AdamW(schedule="cosine")),
        RunConfig(optim=AdamW(schedule="cosine"), epochs=9999),
    )
    assert len({config.id for config in other}) == len(other)
    assert all(len(config.id) == 12 for config in other)


def test_what_only_watches_or_stops_a_run_is_no_part_of_its_id():
    watched = RunConfig(epochs=9999, log=Log(every=7, dense=True, keep=70), stop=Stop(accuracy=0.0, window=3))
    assert watched.id == RunConfig().id
    assert watched.identity() == RunConfig().identity()
    assert not {"log", "stop", "epochs"} & set(watched.identity())


def test_a_run_with_another_last_epoch_is_the_same_run_unless_something_depends_on_it():
    config = RunConfig(seed=3)
    later = config.until(77)
    assert later == replace(config, epochs=77)
    assert later.id == replace(config, epochs=77).id == config.id
    exact = replace(config, exact=True)
    assert exact.until(77).id == replace(exact, epochs=77).id != exact.id


def test_of_an_exact_run_everything_is_part_of_its_id():
    exact = RunConfig(exact=True)
    others = (
        replace(exact, epochs=9999),
        replace(exact, log=Log(keep=70)),
        replace(exact, stop=Stop(accuracy=0.0)),
        RunConfig(),
    )
    assert len({exact.id, *(config.id for config in others)}) == 5


def test_whole_numbers_given_for_real_ones_make_no_difference():
    assert RunConfig(optim=AdamW(weight_decay=1, lr=1)).id == RunConfig(optim=AdamW(weight_decay=1.0, lr=1.0)).id


def test_an_optimizer_with_a_schedule_of_its_own_is_taken_to_depend_on_the_last_epoch():
    class Decaying(AdamW):
        def rate(self, epoch, epochs):
            return self.lr * (1 - epoch / epochs)

    class Saying(Decaying):
        depends_on_epochs = False

    assert Decaying().depends_on_epochs
    assert not Saying().depends_on_epochs
    assert not AdamW().depends_on_epochs
    assert RunConfig(optim=Decaying()).id != RunConfig(optim=Decaying(), epochs=5).id


def test_seeds_can_be_set_apart():
    config = RunConfig(seed=5, init_seed=7)
    assert [config.seed_for(purpose) for purpose in ("data", "init", "order")] == [5, 7, 5]
    assert from_words("seed=5", "init_seed=7", "data_seed=none") == config
    apart = RunConfig(seed=5, data_seed=1, init_seed=2, order_seed=3)
    assert [apart.seed_for(purpose) for purpose in ("data", "init", "order")] == [1, 2, 3]
    assert RunConfig(seed=5, order_seed=5).id == RunConfig(seed=5).id
    with pytest.raises(ConfigError, match=r"^data_seed: -1 is outside"):
        RunConfig(data_seed=-1).check()


def test_several_wishes_for_one_run_become_one_that_covers_all():
    wishes = [
        RunConfig(epochs=100, log=Log(every=20, keep=400), stop=Stop(accuracy=0.96, window=100)),
        RunConfig(epochs=300, log=Log(every=50, keep=0, dense=True), stop=Stop(accuracy=0.99, window=50)),
        RunConfig(seed=1, epochs=7),
    ]
    covering = RunConfig(epochs=300, log=Log(every=10, dense=True, keep=400), stop=Stop(accuracy=0.99, window=100))
    assert combine(wishes) == {covering.id: covering, wishes[2].id: wishes[2]}
    assert list(combine(wishes)) == [wishes[0].id, wishes[2].id]
    to_the_end = replace(wishes[0], stop=Stop(accuracy=0.0))
    assert combine([*wishes, to_the_end])[covering.id].stop.accuracy == 0.0


def test_words_become_values():
    config = from_words(
        "task.p=97", "task.alphabet=operands", "optim.lr=3e-3", "log.dense=true", "task.positions=0,2", "epochs=1e3"
    )
    assert config.task == Modular(p=97, alphabet="operands", positions=(0, 2))
    assert config.optim == AdamW(lr=3e-3)
    assert config.log.dense is True
    assert config.epochs == 1000


def test_a_room_name_alone_chooses_its_kind():
    assert from_words("task=parity").task == Parity()
    assert from_words("task=parity", "task.k=2").task == Parity(k=2)
    assert from_words("task.kind=parity", "task.k=2").task == Parity(k=2)


def merged(base, over):
    """The merged settings, and what was said about them."""
    lines = []
    return merge(base, over, source="my.toml", notify=lines.append), lines


def test_another_kind_keeps_the_settings_that_it_also_has():
    base = {"task": {"p": 37, "train_fraction": 0.5, "op": "-"}, "epochs": 5}
    plain, lines = merged(base, {"task": "k-addition"})
    assert plain == {"task": {"kind": "k-addition", "p": 37, "train_fraction": 0.5}, "epochs": 5}
    assert lines == ["task k-addition has no setting op (from my.toml): ignored"]
    plain, lines = merged(base, {"task": {"kind": "parity", "train_fraction": 0.6}})
    assert plain["task"] == {"kind": "parity", "train_fraction": 0.6}
    assert lines == ["task parity has no setting p, op (from my.toml): ignored"]


def test_naming_the_kind_that_is_the_default_anyway_changes_nothing():
    base = {"task": {"p": 37, "op": "-"}}
    plain, lines = merged(base, {"task": "modular"})
    assert plain == {"task": {"kind": "modular", "p": 37, "op": "-"}}
    assert not lines
    assert merged({"task": {"p": 7}}, {"task": {"op": "-"}}) == ({"task": {"p": 7, "op": "-"}}, [])


def test_a_value_that_the_new_kind_cannot_take_is_named():
    plain, lines = merged({"ticket": {"kind": "magnitude", "run": "3f9a", "rate": "half"}}, {"ticket": "random"})
    assert plain["ticket"] == {"kind": "random"}
    assert lines == [
        "ticket random has no setting run (from my.toml): ignored",
        "ticket random does not accept rate = 'half' (from my.toml): ignored",
    ]


def test_defaults_of_a_config_are_not_kept_as_if_somebody_had_chosen_them():
    config = RunConfig(task=Modular(p=59), optim=AdamW(lr=0.01))
    assert config.changes() == {"task": {"kind": "modular", "p": 59}, "optim": {"kind": "adamw", "lr": 0.01}}
    assert RunConfig.from_dict(config.changes()) == config
    plain, lines = merged(config.changes(), {"task": "k-addition", "optim": "sgd"})
    assert plain == {"task": {"kind": "k-addition", "p": 59}, "optim": {"kind": "sgd", "lr": 0.01}}
    assert not lines


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["task.frction=0.3"], "task.frction: no such setting. Did you mean task.train_fraction?"),
        (["tsk.p=3"], "tsk: no such setting. Did you mean task?"),
        (["task=parrity"], "task: no task is called 'parrity'. Did you mean parity?"),
        (["optim=adam-w"], "optim: no optim is called 'adam-w'. Did you mean adamw?"),
        (["task.p=many"], "task.p: 'many' is not an integer"),
        (["task.p=7.5"], "task.p: '7.5' is not an integer"),
        (["optim.lr=fast"], "optim.lr: 'fast' is not a number"),
        (["optim.lr=nan"], "optim.lr: 'nan' is not finite"),
        (["log.dense=maybe"], "log.dense: 'maybe' is neither true nor false"),
        (["prior.target=oracel"], "prior.target: 'oracel' is not a valid choice. Did you mean oracle?"),
        (["loss=crossentropy"], "loss: no loss is called 'crossentropy'. Did you mean cross_entropy?"),
        (["task.op=/", "task.p=10"], "task.p: 10 is not prime"),
        (["task.train_fraction=1.5"], "task.train_fraction: 1.5 is outside"),
        (["task.train_fraction=0"], "task.train_fraction: 0.0 is outside"),
        (["prior.beta=-1"], "prior.beta: -1.0 is below 0"),
        (["model.heads=3"], "model.heads: 3 heads do not divide d = 64"),
        (["task.positions=0,9"], "task.positions: "),
        (["batch_size=99999"], "batch_size: 99999 is outside 0 … 3830"),
        (["epochs=0"], "epochs: 0 is below 1"),
        (["seed=-1"], "seed: -1 is outside"),
        (["task=ar-parity"], 'model.scope: task ar-parity needs scope = "causal"'),
        (
            ["task.distractors=0", "prior.target=adversarial"],
            "prior.target: an adversarial target needs at least one distractor",
        ),
        (
            ["task=ar-parity", "model.scope=causal", "constraint.attention=oracle"],
            "constraint.attention: task ar-parity cannot",
        ),
        (
            ["task=permutation", "constraint.attention=oracle-by-head"],
            "constraint.attention: oracle-by-head needs as many heads as informative tokens; model.heads is 1",
        ),
        (["optim.clip=-1"], "optim.clip: -1.0 is below 0"),
        (["stop.accuracy=2"], "stop.accuracy: 2.0 is outside [0, 1]"),
        (["log.every=0"], "log.every: 0 is below 1"),
    ],
)
def test_what_cannot_be_is_one_clear_line(words, line):
    with pytest.raises(ConfigError) as error:
        from_words(*words).check()
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)


def test_nearest_lists_all_choices_when_none_is_close():
    assert nearest("xyzzy", ["alpha", "beta"]) == "Choose from: alpha, beta."


def test_of_many_choices_nearest_lists_only_the_nearest():
    said = nearest("xyzzy", [f"name{i:03}" for i in range(300)])
    assert said.startswith("The nearest of 300 are ") and said.count("name") == 5


def test_defaults_are_the_papers():
    """Table G.2."""
    config = RunConfig().check()
    shape = config.task.shape
    assert (shape.length, shape.classes, shape.train_size) == (5, 113, 3830)
    assert (config.model.d, config.model.d_mlp, config.model.heads, config.model.layers) == (64, 256, 1, 1)
    assert (config.optim.kind, config.optim.lr, config.optim.weight_decay) == ("adamw", 1e-3, 1.0)
    assert (config.optim.warmup, config.optim.clip, config.epochs) == (10, 1.0, 10_000)
