"""The measured part of docs/forecast.md and its picture, from results/.

    python -m tools.forecast_page           # scores all predictors (a minute), writes results/forecast.json, picture and page
    python -m tools.forecast_page --cost    # also measures anew what features cost, and calibrates the Langevin chains
    python -m tools.forecast_page --page    # writes the page from results/forecast.json
    python -m tools.forecast_page --check   # reports a stale page, or scores of other results than those that are stored

What is between `<!-- filled: NAME -->` and `<!-- end -->` is generated; the rest is written by hand.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from grokscope.figures import to_svg
from grokscope.forecast.data import DRIFT, POOL, PROBE, load_pool
from grokscope.forecast.evaluate import evaluate
from grokscope.forecast.picture import picture
from grokscope.store import save_file
from grokscope.store.results import Results
from tools.feature_cost import cost
from tools.llc_calibration import calibrations

ROOT = Path(__file__).resolve().parents[1]
PAGE, DRAWN = ROOT / "docs/forecast.md", ROOT / "docs/forecast.svg"
RESULTS = ROOT / "results"
STORED = RESULTS / "forecast.json"
PART = re.compile(r"(<!-- filled: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

COLUMNS = ("llc", DRIFT)
PUBLIC = (
    ("first passage of the norm", "2605.18845", "mean error 17.7 %", "first-passage", "mape"),
    ("inter/intra-class distance", "2604.20923", "leads by 950 ± 250 steps", "class-distance", "lead"),
    ("residual of a dynamic mode decomposition", "2605.08237", "AUROC 0.93", "", "auroc"),
    ("spectral entropy", "2604.13123", "no number quoted here", "spectral-entropy", "auroc"),
    ("commutator defect", "2602.16967", "no number quoted here", "commutator", "auroc"),
    ("loss oscillation", "2306.13253", "no number quoted here", "oscillation", "auroc"),
)
"""What others report: what it is, where, the figure, our predictor, and the score of ours that stands beside it. Without a
predictor of ours the best one stands there."""


def inputs() -> dict[str, str]:
    """Checksums of the results that predictors learn from."""
    stored = {name: RESULTS / name / "full/about.json" for name in POOL}
    return {
        name: json.loads(path.read_text(encoding="utf-8"))["checksum"] for name, path in stored.items() if path.exists()
    }


def measure(stored: dict[str, Any], again: bool) -> dict[str, Any]:
    """Scores of all predictors, and what features cost; draws the picture.

    again   whether cost and calibration are measured anew
    """
    pool = load_pool(RESULTS)
    scores, horizon = evaluate(pool)
    save_file(DRAWN, to_svg(picture(pool, scores, horizon)))
    spent = cost() if again or "cost" not in stored else stored["cost"]
    return {
        "inputs": inputs(),
        "horizon": horizon,
        "scores": [_rounded(asdict(one)) for one in scores],
        "cost": _rounded(spent),
        "chains": chains(pool),
        "calibration": [_short(row) for row in calibrations()]
        if again or "calibration" not in stored
        else stored["calibration"],
    }


def chains(pool: Mapping[str, Results]) -> dict[str, int]:
    """How many stored runs have a learning coefficient: of chains whose drift was measured, and of these how many had settled."""
    tables = [own.probes[PROBE] for own in pool.values() if PROBE in own.probes]
    found = [own.reindex(columns=["run", *COLUMNS]).groupby("run").count() > 0 for own in tables]
    every = pd.concat(found) if found else pd.DataFrame()
    measured = every[DRIFT] if len(every) else pd.Series(dtype=bool)
    return {
        "without_drift": int((every["llc"] & ~measured).sum()) if len(every) else 0,
        "measured": int(measured.sum()),
        "settled": int((every["llc"] & measured).sum()) if len(every) else 0,
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN, and more digits differ between machines."""
    return {
        name: (round(value, 4) if math.isfinite(value) else None) if isinstance(value, float) else value
        for name, value in row.items()
    }


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """Four digits, since step sizes are small."""
    return {
        name: (float(f"{value:.4g}") if math.isfinite(value) else None) if isinstance(value, float) else value
        for name, value in row.items()
    }


def scores(stored: dict[str, Any]) -> str:
    """The table of predictors on common runs, the best first."""
    seeds, transfer = _common(stored, "seeds"), _common(stored, "transfer")
    any_one = next(iter(seeds.values()))
    lines = [
        f"On the {any_one['runs']} runs that have the features of all predictors, observed at {any_one['at']:g} · t_mem; AUROC of "
        f"generalising by epoch {stored['horizon']:,.0f}. The last two columns are of an alphabet or task that was left out, the "
        "others of unseen seeds.",
        "",
        "| predictor | AUROC | factor | MAPE | ρ within | in 80 % | lead | AUROC, unseen domain | ρ within, unseen domain |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, own in sorted(seeds.items(), key=lambda item: -(item[1]["auroc"] or 0.0)):
        other = transfer.get(name, {})
        cells = [
            f"`{name}`",
            _number(own["auroc"]),
            "–" if own["error"] is None else f"{math.exp(own['error']):.2f}",
            _percent(own["mape"]),
            _number(own["within"]),
            _percent(100 * own["coverage"]),
            "–" if own["lead"] is None else f"{own['lead']:,.0f}",
            _number(other.get("auroc")),
            _number(other.get("within")),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "![AUROC of the predictors, and forecasts of the best](forecast.svg)"])


def public(stored: dict[str, Any]) -> str:
    """What others report, beside ours."""
    seeds = _common(stored, "seeds")
    best = max(seeds, key=lambda name: seeds[name]["auroc"] or 0.0)
    lines = ["| what | reported | here |", "|---|---|---|"]
    for what, source, figure, kind, score in PUBLIC:
        name, own = kind or best, seeds[kind or best]
        said = {
            "mape": f"MAPE {_percent(own['mape'])}",
            "lead": "–" if own["lead"] is None else f"leads by {own['lead']:,.0f} epochs",
            "auroc": f"AUROC {_number(own['auroc'])}",
        }[score]
        other = "" if kind else ", the best of ours; theirs is not among them"
        lines.append(f"| {what} ([{source}](https://arxiv.org/abs/{source})) | {figure} | `{name}`: {said}{other} |")
    return "\n".join(lines)


def costs(stored: dict[str, Any]) -> str:
    """What features cost, in one sentence."""
    own = stored["cost"]
    return (
        f"The features of a run at all epochs of observation, the chains of the learning coefficient included, take "
        f"{own['features_s']:.1f} s beside {own['training_s']:.0f} s of training on one core: {100 * own['share']:.1f} % "
        "(limit: 10 %)."
    )


def chained(stored: dict[str, Any]) -> str:
    """What of the stored learning coefficients is used."""
    own = stored["chains"]
    lines = []
    if own["measured"]:
        lines.append(
            f"Of {own['measured']} stored runs with chains, {own['settled']} have chains that settled; the others are not used."
        )
    if own["without_drift"]:
        lines.append(
            f"The stored results of `forecast-dial` have the learning coefficients of {own['without_drift']} runs from an earlier "
            "version, whose 80 steps were read long before the chains had settled: with the step size and localisation that it had "
            "this takes about 2,200 steps. These values are not used; `learning-coefficient` is scored once `forecast-dial` has "
            "been run again."
        )
    return " ".join(lines)


def calibration(stored: dict[str, Any]) -> str:
    """λ̂ by localisation, step size and arm."""
    rows = stored["calibration"]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    lines = [f"| γ | ε | {' | '.join(arms)} |", f"|---|---|{'---|' * len(arms)}"]
    cells = {(row["localisation"], row["step_size"], row["arm"]): row for row in rows}
    for gamma, epsilon in dict.fromkeys((row["localisation"], row["step_size"]) for row in rows):
        own = [cells[gamma, epsilon, arm] for arm in arms]
        mark = "**" if own[0]["default"] else ""
        lines.append(f"| {gamma:,.0f} | {mark}{epsilon:g}{mark} | {' | '.join(map(_settling, own))} |")
    used = [next(row for row in rows if row["arm"] == arm) for arm in arms]
    lines.append(f"| as used | | {' | '.join(_value(row['used'], row['used_drift']) for row in used)} |")
    return "\n".join(lines)


def _settling(row: dict[str, Any]) -> str:
    """`126, drift 0.01`; in brackets where chains have not settled, with an asterisk where ε is small enough."""
    if row["llc"] is None:
        return "(diverged)"
    text = _value(row["llc"], row["drift"], "*" if row["small_enough"] else "")
    return text if row["settled"] else f"({text})"


def _value(llc: float, drift: float, mark: str = "") -> str:
    return f"{llc:.3g}{mark}, drift {drift + 0.0:.2f}"


FILLERS = {"scores": scores, "public": public, "cost": costs, "chains": chained, "calibration": calibration}


def filled(page: str, stored: dict[str, Any]) -> str:
    """The page with every generated part rewritten."""
    return PART.sub(lambda part: f"{part[1]}\n{FILLERS[part[2]](stored)}\n\n{part[3]}", page)


def _common(stored: dict[str, Any], protocol: str) -> dict[str, dict[str, Any]]:
    rows = (row for row in stored["scores"] if (row["on"], row["protocol"]) == ("common", protocol))
    return {row["predictor"]: row for row in rows}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f} %"


def main(arguments: list[str]) -> int:
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    page = PAGE.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        if stored.get("inputs") == inputs() and filled(page, stored) == page:
            return 0
        print("docs/forecast.md is stale: run python -m tools.forecast_page", file=sys.stderr)
        return 1
    if arguments != ["--page"]:
        stored = measure(stored, "--cost" in arguments)
        save_file(STORED, json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    save_file(PAGE, filled(page, stored))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
