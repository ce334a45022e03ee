"""The command forecast: whether and when runs will generalise, and how good the predictors are."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, StoreError
from .app import Json, Runs, app
from .printing import print_table, to_json

if TYPE_CHECKING:
    from ..forecast.calibration import Calibration
    from ..forecast.evaluate import Score
    from ..forecast.runs import RunForecast
    from ..run import StoredRun


@app.command()
def forecast(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="RUN…", help="Ids of runs, or prefixes of them.", show_default=False)
    ] = None,
    evaluate: Annotated[
        bool, typer.Option("--evaluate", help="Score every predictor on stored runs that it has not seen.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Estimate the learning coefficient of these runs with several step sizes and localisations of its Langevin "
            "chains, and show which settle; forecast nothing.",
        ),
    ] = False,
    at: Annotated[
        int | None, typer.Option("--at", metavar="EPOCH", help="Epoch of observation; t_mem by default.")
    ] = None,
    by: Annotated[
        int | None,
        typer.Option(
            "--by", metavar="EPOCH", help="Probability of generalising by this epoch; the run's last by default."
        ),
    ] = None,
    predictor: Annotated[
        str | None,
        typer.Option(
            "--predictor",
            metavar="NAME",
            help="`grokscope list predictors` shows the choices. By default combined, or another one where a run has not all "
            "its features; with --evaluate all.",
            show_default=False,
        ),
    ] = None,
    results: Annotated[
        Path,
        typer.Option("--results", metavar="DIR", help="Results to learn from, as `grokscope reproduce` writes them."),
    ] = Path("results"),
    scale: Annotated[str, typer.Option(help="Scale of the results: full or quick.", metavar="full | quick")] = "full",
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="STEM", help="With --evaluate, also draw STEM.svg and STEM.png.")
    ] = None,
    runs: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Forecast whether and when runs will generalise, from what is known on their plateau; score the predictors.

    A predictor learns from stored results; nothing is trained. At t_mem, or at a later epoch, it says the probability of
    generalising by the run's last epoch, the epoch itself with an interval of 80 %, and how far that can be trusted.

        grokscope forecast 3f9a 77b1

        grokscope forecast 3f9a --at 2000 --predictor fourier

        grokscope forecast --evaluate --picture docs/forecast

        grokscope forecast 3f9a --calibrate
    """
    from ..forecast import predictors
    from ..forecast.data import load_pool

    if predictor is not None:
        predictors.get(predictor)  # an unknown name is refused first
    if scale not in ("full", "quick"):
        raise ConfigError("--scale", f"{scale!r} is neither full nor quick")
    if not evaluate and not names:
        raise ConfigError("RUN", "name the runs to forecast, or use --evaluate; `grokscope runs` lists them")
    if evaluate and names:
        raise ConfigError("--evaluate", "scores predictors on stored results and takes no runs")
    if evaluate and at is not None:
        raise ConfigError("--at", "with --evaluate runs are observed at multiples of t_mem; leave it out")
    if picture is not None and not evaluate:
        raise ConfigError("--picture", "needs --evaluate")
    if calibrate:
        others = {"--evaluate": evaluate, "--by": by is not None, "--predictor": predictor is not None}
        if given := [word for word, value in others.items() if value]:
            raise ConfigError("--calibrate", f"forecasts nothing, and does not go with {given[0]}")
        _calibrate(names or [], runs, at, as_json)
        return
    pool = load_pool(results, scale)
    if evaluate:
        from ..forecast.evaluate import FEWEST
        from ..forecast.evaluate import evaluate as score

        scores, horizon = score(pool, predictor and [predictor], None if by is None else float(by))
        if not scores:
            which = f"{predictor} cannot be scored" if predictor else "no predictor can be scored"
            raise ConfigError(
                "--evaluate", f"{which}: at least {FEWEST} stored runs must have its features at one epoch"
            )
        if picture is not None:
            from ..figures.style import save
            from ..forecast.picture import picture as draw

            save(draw(pool, scores, horizon), picture)
        if as_json:
            print(to_json({"horizon": horizon, "scores": [asdict(own) for own in scores]}))
        else:
            _print_scores(scores, horizon)
        return
    from ..forecast.runs import forecast_run

    def forecasts(run: StoredRun) -> RunForecast:
        return forecast_run(run, pool, predictor, at, by)

    _of_each(names or [], runs, forecasts, _print_forecasts, as_json)


def _calibrate(names: list[str], runs: Path, at: int | None, as_json: bool) -> None:
    from ..forecast.calibration import calibrate_run

    _of_each(names, runs, lambda run: calibrate_run(run, at), _print_calibrations, as_json)


def _of_each(
    names: list[str], runs: Path, make: Callable[[StoredRun], Any], show: Callable[[list[Any]], None], as_json: bool
) -> None:
    """Print what is made of each run; those of which nothing can be made are named on stderr, one line each, and the exit code is
    1: damaged ones with what to do, others with why not."""
    from ..run import StoredRun
    from ..store.disk import DamageError
    from .choice import Choice

    found, damaged, refused = [], {}, []
    for name in names:
        stored = StoredRun.find(runs, name)
        try:
            found.append(make(stored))
        except DamageError as error:
            damaged[stored.id] = str(error)
        except StoreError as error:
            refused.append(str(error))
    if not found:
        raise StoreError("\n".join([*damaged.values(), *refused]))
    if as_json:
        print(to_json([asdict(own) for own in found]))
    else:
        show(found)
    for line in refused:
        print(line, file=sys.stderr)
    Choice([], damaged, named=True).finish(damaged)
    if refused:
        raise typer.Exit(1)


COLUMNS = ("predictor", "at", "runs", "AUROC", "factor", "MAPE", "ρ", "ρ within", "in 80 %", "lead", "public figure")
PROTOCOLS = {"seeds": "unseen seeds", "transfer": "unseen alphabet or task"}


def _print_scores(scores: list[Score], horizon: float) -> None:
    for on, set_of_runs in (
        ("common", "the runs that have the features of all predictors"),
        ("own", "all runs that have its features: not the same for all"),
    ):
        for protocol, words in PROTOCOLS.items():
            own = [score for score in scores if (score.on, score.protocol) == (on, protocol)]
            if own:
                print(f"{words}, {set_of_runs}")
                _print_table(own)
                print()
    print(
        f"AUROC of generalising by epoch {horizon:,.0f}; factor: median error of t_grok; ρ within: over the seeds of one arm; "
        "in 80 %: share of runs inside the interval of 80 %; lead: median epochs of warning at 5 % false alarms; "
        "at: multiple of t_mem at which the run was observed.\n"
        "AUROC and ρ are over all arms together. Who knows nothing then ranks the wrong way round: the mean of the other arms is "
        "low for a slow arm that is left out and high for a fast one, so that `constant` lies far below 0.5 and 0 on an unseen "
        "alphabet or task, and a little on unseen seeds. ρ within is free of this."
    )


def _print_table(scores: list[Score]) -> None:
    from rich.table import Table

    printed = Table(box=None, pad_edge=False, header_style="bold")
    for name in COLUMNS:
        numeric = name not in ("predictor", "public figure")
        printed.add_column(name, justify="right" if numeric else "left", no_wrap=True)
    for own in sorted(scores, key=lambda score: -_or_low(score.auroc)):
        printed.add_row(
            own.predictor,
            f"{own.at:g}",
            str(own.runs),
            f"{own.auroc:.2f}",
            f"{math.exp(own.error):.2f}" if math.isfinite(own.error) else "",
            f"{own.mape:.0f} %",
            f"{own.rho:.2f}",
            f"{own.within:.2f}" if math.isfinite(own.within) else "",
            f"{100 * own.coverage:.0f} %",
            f"{own.lead:,.0f}" if math.isfinite(own.lead) else "",
            own.public,
        )
    print_table(printed, 160, soft_wrap=True)


def _or_low(value: float) -> float:
    return value if value == value else -1.0


def _print_forecasts(found: list[RunForecast]) -> None:
    from rich.table import Table

    printed = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "predictor", "at", "groks by", "probability", "t_grok", "80 % interval", "actual", "trust"):
        printed.add_column(name, justify="left" if name in ("run", "predictor", "trust") else "right", no_wrap=True)
    for own in found:
        printed.add_row(
            own.run,
            own.predictor,
            f"{own.epoch:,}",
            f"{own.by:,}",
            f"{100 * own.chance:.0f} %",
            f"{own.t_grok:,.0f}",
            f"{own.low:,.0f} to {own.high:,.0f}",
            "" if own.actual is None else f"{own.actual:,}",
            own.trust.partition(":")[0],
        )
    print_table(printed, 160, soft_wrap=True)
    print()
    for own in found:
        print(f"{own.run}: trust is {own.trust}." + (f" {own.note}." if own.note else ""))
    print(
        "\nt_grok and actual: the first evaluation at the threshold (`t_grok_first` of `grokscope runs`), held or not."
    )


def _print_calibrations(found: list[Calibration]) -> None:
    from rich.table import Table

    from ..probes.learning_coefficient import STEPS

    for own in found:
        title = f"run {own.run}, checkpoint of epoch {own.epoch:,}: {own.verdict}"
        printed = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for name in ("γ", "step size ε", "λ̂", "± chains", "drift"):
            printed.add_column(name, justify="right")
        for name in ("settled", "ε small enough", ""):
            printed.add_column(name)
        for row in own.rows:
            marks = ["yes" if mark else "" for mark in (row.settled, row.small_enough)]
            values = (f"{row.llc:.4g}", f"{row.error:.2g}", f"{row.drift:.2f}")
            default = "default" if row.default else ""
            printed.add_row(f"{row.localisation:g}", f"{row.step_size:g}", *values, *marks, default)
        print_table(printed, 160, soft_wrap=True)
        settled = "settled" if own.used_settled else "not settled, and not used"
        print(f"As the probe has it, with {STEPS} steps: {own.used:.4g}, drift {own.used_drift:.2f}, {settled}.\n")
    print(
        "γ: how strongly chains are held at the checkpoint; directions with less curvature than γ log(n)/n do not count, so that λ̂ "
        "depends on it.\ndrift: relative change of λ̂ between the last two quarters of the steps, at most 0.15 where they have "
        "settled.\nε small enough: the next smaller ε has settled too, and λ̂ agrees within 15 %."
    )
