"""Arms: what distinguishes runs, and short names for it."""

import pytest

from grokscope.conditions import LONGEST, arms_of, short_names
from grokscope.config import RunConfig
from grokscope.errors import ConfigError


def config(seed=0, **settings):
    """Nested settings from dotted names with __ for a dot."""
    plain = {"seed": seed}
    for name, value in settings.items():
        component, _, field = name.partition("__")
        if field:
            plain.setdefault(component, {})[field] = value
        else:
            plain[name] = value
    return RunConfig.from_dict(plain).to_dict()


def test_names_say_what_differs_and_arms_are_ordered_by_value():
    arms = arms_of([config(seed, prior__beta=beta) for beta in (0.3, 0.0, 0.03) for seed in (0, 1)])
    assert arms.names == ["β = 0.3"] * 2 + ["no prior"] * 2 + ["β = 0.03"] * 2
    assert list(arms.settings) == ["no prior", "β = 0.03", "β = 0.3"]
    assert arms.settings["β = 0.03"] == {"prior.beta": 0.03}
    assert arms.pooled == []


def test_arms_of_several_kinds_are_in_the_order_of_their_kinds_and_then_of_their_values():
    runs = [config(prior__beta=beta) for beta in (0.3, 0.0, 0.03)]
    arms = arms_of([*runs[:1], config(task__kind="parity", task__n=12), *runs[1:]])
    assert [own["task.kind"] for own in arms.settings.values()] == ["modular"] * 3 + ["parity"]
    assert [own["prior.beta"] for own in arms.settings.values()] == [0.0, 0.03, 0.3, 0.0]


def test_runs_that_do_not_differ_are_one_arm():
    assert arms_of([config(0), config(1)]).settings == {"all runs": {}}


def test_a_prior_of_strength_0_has_no_other_settings():
    kinds = [config(prior__beta=0.0, prior__target=target) for target in ("oracle", "uniform")]
    assert len(arms_of(kinds).settings) == 1
    both = arms_of([*kinds, config(prior__beta=0.5, prior__kind="entropy")])
    assert list(both.settings) == ["no prior", "β = 0.5"]


def test_settings_that_follow_from_a_kind_are_not_named():
    arms = arms_of([config(task__p=31), config(task__p=37), config(task__kind="parity", task__n=12)])
    assert list(arms.settings) == ["modular, p = 31", "modular, p = 37", "parity"]


def test_many_differences_leave_what_is_unusual():
    base = {"task__p": 31, "task__alphabet": 12, "optim__lr": 0.01, "constraint__attention": "learned"}
    changed = [{}, {"task__alphabet": 1}, {"constraint__attention": "uniform"}, {"optim__lr": 0.003, "task__p": 37}]
    arms = arms_of([config(**(base | own)) for own in changed])
    assert set(arms.settings) == {"baseline", "alphabet = 1", "attention = uniform", "p = 37, lr = 0.003"}
    assert arms.settings["baseline"]["optim.lr"] == 0.01  # the table has every value


def test_names_are_short_and_distinct_whatever_the_settings():
    arms = [{"settings.description": "a very long text about nothing at all, " * 3 + str(n)} for n in range(12)]
    names = short_names(arms)
    assert len(set(names)) == 12
    assert max(map(len, names)) <= LONGEST


def test_arms_by_one_setting_pool_the_others():
    runs = [config(prior__beta=beta, optim__weight_decay=decay) for beta in (0.0, 0.3) for decay in (0.1, 1.0)]
    arms = arms_of(runs, ["weight_decay"])
    assert list(arms.settings) == ["decay = 0.1", "decay = 1"]
    assert arms.pooled == ["prior.beta"]
    with pytest.raises(ConfigError, match=r"weight_dcay: no such setting. Did you mean optim.weight_decay\?"):
        arms_of(runs, ["weight_dcay"])


def test_a_setting_spelt_wrongly_without_its_component_is_recognised():
    for wrong, meant in [
        ("bta", "prior.beta"),
        ("tasks", "task"),
        ("attntion", "constraint.attention or model.attention"),
    ]:
        with pytest.raises(ConfigError, match=rf"no such setting. Did you mean {meant}\?"):
            arms_of([config()], [wrong])


def test_a_last_part_of_several_settings_is_ambiguous():
    with pytest.raises(ConfigError, match="kind: is ambiguous"):
        arms_of([config()], ["kind"])
