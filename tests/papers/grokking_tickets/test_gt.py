"""The rules of the grokking-tickets experiments, on tables made by hand."""

import numpy as np
import pandas as pd
import pytest

from grokscope.experiments.base import matching_experiments
from grokscope.papers.grokking_tickets import rules, table1
from grokscope.papers.grokking_tickets.bridge import routed_at_once
from grokscope.store.results import Results

NEVER = None


def arm(name, t_gen, t_mem=100, **columns):
    """One row a seed; a run that never generalised ends at 4000."""
    t_gen = list(t_gen)
    rows = pd.DataFrame({"arm": name, "seed": range(len(t_gen)), "t_gen_95": t_gen, "epoch": 4000, **columns})
    rows["run"] = [f"{name}/{seed}" for seed in rows["seed"]]
    rows["t_mem_95"] = t_mem
    rows["t_gen_95"] = rows["t_gen_95"].astype(float)
    rows["tau_grok"] = rows["t_gen_95"] / rows["t_mem_95"]
    rows["t_grok"] = rows["t_gen_95"]
    rows["best_test_accuracy"] = np.where(rows["t_gen_95"].notna(), 1.0, 0.3)
    return rows


def results(curves, runs, probes=None):
    return Results({"scale": "quick"}, runs, curves, probes or {})


def constant(runs, **columns):
    """Curves that hold one value an arm from the first epoch to the last."""
    rows = []
    for run in runs.to_dict("records"):
        for epoch in (0, 400, 800, 1200, 1600, 2000):
            rows.append({"run": run["run"], "epoch": epoch} | {c: v[run["arm"]] for c, v in columns.items()})
    return pd.DataFrame(rows)


def test_lower_ratio():
    slow = arm("dense", [2000, 2100, 2200, NEVER, 1900])
    judge = rules.lower_ratio("ticket", "dense")
    assert judge(pd.concat([slow, arm("ticket", [300, 310, 320, 330, 340])])).verdict == "holds"
    assert judge(pd.concat([slow, arm("ticket", [2000, 2100, 2200, NEVER, 1900])])).verdict == "not decided"
    assert judge(pd.concat([slow, arm("ticket", [NEVER] * 5)])).verdict != "holds"
    said = judge(pd.concat([slow, arm("ticket", [300] * 5)])).measured
    assert "dense: τ 21.0 (19.0–22.0; 4/5)" in said and "ticket: τ 3.0" in said


@pytest.mark.parametrize(("best", "verdict"), [("rate 0.7", "holds"), ("rate 0.6", "does not hold")])
def test_lowest_ratio(best, verdict):
    times = {"rate 0.6": 500, "rate 0.7": 400, "rate 0.9": NEVER}
    runs = pd.concat([arm(name, [t] * 3) for name, t in times.items()])
    ruling = rules.lowest_ratio_at(best, list(times))(runs)
    assert ruling.verdict == verdict
    assert ruling.numbers["lowest"] == "rate 0.7" and ruling.numbers["rate 0.9"] is None


def test_grows_with():
    runs = pd.concat([arm(f"rate {r}", [900] * 3, t_mem=100 + 500 * r, **{"ticket.rate": r}) for r in (0.1, 0.5, 0.9)])
    judge = rules.grows_with("t_mem_95", "ticket.rate", ["rate 0.1", "rate 0.5", "rate 0.9"], "t_mem")
    assert judge(runs).verdict == "holds"
    assert judge(runs.assign(t_mem_95=1000 - runs["t_mem_95"])).verdict == "does not hold"


def test_tickets_before_and_after():
    dense = arm("dense", [1000, 1400, 1200]).assign(**{"ticket.epoch": None})
    early = arm("ticket at 600", [NEVER] * 3, **{"ticket.epoch": "600"})
    late = arm("ticket at 1600", [200, 210, 220], **{"ticket.epoch": "1600"})
    between = arm("ticket at 1200", [300, NEVER, 320], **{"ticket.epoch": "1200"})
    runs = pd.concat([dense, early, late, between])
    assert sorted(rules.taken(runs, "ticket at ", after=False)["run"]) == [
        "ticket at 1200/1",
        *(f"ticket at 600/{seed}" for seed in range(3)),
    ]
    assert rules.early_tickets_fail("ticket at ")(runs).verdict == "holds"
    assert rules.late_tickets_help("ticket at ")(runs).verdict == "holds"
    works = early.assign(t_gen_95=500.0)
    assert rules.early_tickets_fail("ticket at ")(pd.concat([dense, works])).verdict == "does not hold"
    assert rules.early_tickets_fail("ticket at ")(pd.concat([dense, late])).verdict == "not decided"


def test_none_sooner():
    runs = pd.concat(
        [
            arm("dense", [1000 + s for s in range(5)]),
            arm("SNIP", [NEVER] * 5),
            arm("random", [90 + s for s in range(5)]),
        ]
    )
    ruling = rules.none_sooner(["SNIP", "random"], "dense")(runs)
    assert (ruling.verdict, ruling.when) == ("holds only when", "SNIP")


def test_norms_at_the_end():
    runs = pd.concat([arm("dense", [1000] * 5), arm("ticket", [300] * 5)])
    curves = constant(runs, l2={"dense": 10.0, "ticket": 11.0}, l1={"dense": 500.0, "ticket": 300.0})
    stored = results(curves, runs)
    assert rules.within(["dense", "ticket"], "l2", 1.2, "L2 norm")(stored).verdict == "holds"
    assert rules.within(["dense", "ticket"], "l1", 1.2, "L1 norm")(stored).verdict == "does not hold"
    assert rules.lower_at_end("ticket", "dense", "l1", "L1 norm")(stored).verdict == "holds"
    assert rules.lower_at_end("dense", "ticket", "l1", "L1 norm")(stored).verdict == "does not hold"
    assert rules.lower_at("ticket", "dense", "l1", {"quick": 200}, "L1 norm")(stored).verdict == "holds"


@pytest.mark.parametrize(("steps", "verdict"), [(0.9, "holds"), (0.1, "does not hold")])
def test_structure_moves_with_accuracy(steps, verdict):
    """Five intervals after memorisation; the third gains accuracy and has the largest distance, or not."""
    runs = arm("dense", [1000] * 3)
    table = pd.DataFrame(
        [
            {
                "run": run,
                "arm": "dense",
                "layer": "all",
                "previous": 100 + 100 * i,
                "epoch": 200 + 100 * i,
                "distance": steps if i == 2 else 0.5 - 0.01 * i,
                "accuracy_change": 0.8 if i == 2 else 0.01,
            }
            for run in runs["run"]
            for i in range(5)
        ]
    )
    ruling = rules.structure_moves_with_accuracy(["dense"])(results(pd.DataFrame(), runs, {"jaccard": table}))
    assert ruling.verdict == verdict


def made_table1(pruned):
    arms = {name: [1000] * 3 for name in ("dense", "WD", "EP w/o WD", "EP w/ WD", "EP w/o WD, from 800")}
    runs = pd.concat([arm(name, times) for name, times in arms.items()])
    values = {"dense": 0.2, "EP w/o WD": pruned, "EP w/o WD, from 800": 0.9}
    rows = []
    for run in runs.to_dict("records"):
        for epoch in (0, 200, 400, 600, 800, 1000, 1400, 2000):
            reported = table1.REPORTED.get(run["arm"])
            at = table1.EPOCHS.index(epoch) if epoch in table1.EPOCHS else 0
            value = values.get(run["arm"], reported[at][0] if reported else 0.0)
            rows.append({"run": run["run"], "epoch": epoch, "test_accuracy": value + 0.001 * run["seed"]})
    return results(pd.DataFrame(rows), runs)


def test_table_1():
    ours = table1.meets(made_table1(0.05))
    assert ours.verdict == "does not hold" and "8 of 12 cells agree" in ours.measured
    assert "2000: 0.05 ± 0.00 (paper 0.92 ± 0.06)" in ours.measured
    assert table1.pruning_alone(made_table1(0.05)).verdict == "does not hold"
    assert table1.pruning_alone(made_table1(0.95)).verdict == "holds"
    gained = table1.gains(made_table1(0.05))
    assert (gained.verdict, gained.when) == ("holds only when", "from epoch 800")
    assert table1.gains(made_table1(0.95)).verdict == "holds"
    assert table1.both_faster(made_table1(0.05)).measured.startswith("at 600 epochs, EP w/ WD: 0.82 · WD: 0.53")


def test_routed_at_once():
    runs = pd.concat([arm(f"q = 16, {name}", [1000] * 5) for name in ("ticket of attention", "dense")])
    near = {"q = 16, ticket of attention": 0.4, "q = 16, dense": 0.9}
    mass = {"q = 16, ticket of attention": 0.2, "q = 16, dense": 0.1}
    assert routed_at_once(results(constant(runs, D=near, mass_worst=mass), runs)).verdict == "holds"
    far = dict(zip(near, reversed(near.values()), strict=True))
    assert routed_at_once(results(constant(runs, D=far, mass_worst=mass), runs)).verdict == "does not hold"


def test_figures_by_other_names():
    assert [e.name for e in matching_experiments(["gt-fig15"])] == ["gt-fig2b"]
    assert {e.name for e in matching_experiments(["gt-fig2"])} >= {"gt-fig2a", "gt-fig2b", "gt-fig2c"}
