"""A stored measurement as tables: speed, limits of the device, targets, scaling, every entry, whole experiments."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Measured = dict[str, Any]


class Table(NamedTuple):
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def tables(measured: Measured) -> list[Table]:
    """All tables that the measurement has numbers for."""
    if "all" in measured:
        return [_every(measured)]
    if "experiments" in measured:
        return [_experiments(measured["experiments"])]
    found = [_fleet(measured), _ceilings(measured), _targets(measured)]
    if measured.get("sweep"):
        found.append(_sweeps(measured["sweep"]))
    if measured.get("scaling"):
        found.append(_scaling(measured["scaling"]))
    return [table for table in found if table.rows]


def _fleet(measured: Measured) -> Table:
    plain, rows = measured["plain_run_steps_per_s"], []
    alone = {row["precision"]: row["step_s"] for row in measured["fleet"] if row["lanes"] == 1}
    for row in measured["fleet"]:
        name = (row["precision"], f"{row['lanes']:,}")
        if row["run_steps_per_s"] is None:
            rows.append((*name, "out of memory", *[""] * 6))
            continue
        one = alone.get(row["precision"])
        rows.append(
            (
                *name,
                short(row["run_steps_per_s"]),
                short(row["ratio"]),
                short(row["lanes"] * row["step_s"] / one) if one else "",
                f"{row['diagnostics']:.1%}",
                short(row["step_over_products"]),
                short(row["limit"]),
                f"{row['of_limit']:.0%}",
            )
        )
    header = (
        "",
        "lanes",
        "run-steps/s",
        "× plain",
        "× one lane",
        "diagnostics",
        "step ÷ products",
        "limit",
        "of limit",
    )
    note = (
        "× one lane: time of a step of all lanes, in steps of one. diagnostics: fraction of the time spent on evaluations, "
        "including all measures. step ÷ products: time of a step over that of its matrix products alone, batched alike. limit: "
        "run-steps/s if only the products, or the bytes that must move, took time."
    )
    return Table("Run-steps per second", header, [("plain loop", "1", short(plain), "1", *[""] * 5), *rows], note)


def _ceilings(measured: Measured) -> Table:
    counts, ceilings = measured["counts"], measured["ceilings"]
    operations = 2 * counts["multiply_adds"]
    rows = [
        ("matrix products of a run-step", f"{si(counts['multiply_adds'])} multiply-adds"),
        ("… not counted", f"{si(counts['lookups'])} look-ups"),
        ("bytes that must move", f"{si(counts['bytes'])}B"),
        ("large copy", f"{si(ceilings['copy_bytes_per_s'])}B/s"),
    ]
    if "activations" in counts:
        uncounted = f"{si(counts['lookups'])} numbers looked up, {si(counts['elementwise'])} computed elementwise"
        rows[1] = ("… not counted", uncounted)
        rows.insert(3, ("… kept for the backward pass", f"{si(counts['activations'])}B"))
    for precision, rate in ceilings["square_operations_per_s"].items():
        rows.append((f"large square product, {precision}", f"{si(rate)} operations/s"))
        done = [row for row in measured["fleet"] if row["precision"] == precision and row["products_s"]]
        if done:
            best = min(done, key=lambda row: row["products_s"])
            words = f"{si(operations / best['products_s'])} operations/s at {best['lanes']} lanes"
            rows.append((f"products of a run-step, {precision}", words))
    return Table("Limits of the device", ("", ""), rows)


GPU_TARGETS: Mapping[str, Sequence[tuple[str, dict[str, Any], int]]] = {
    "default": (
        ("TF32", {"precision": "tf32"}, 60_000),
        ("bf16", {"precision": "bf16"}, 120_000),
        ("five lanes", {"lanes": 5}, 15_000),
        ("one lane", {"lanes": 1}, 4_500),
    ),
    "standard": (
        ("TF32", {"precision": "tf32"}, 20_000),
        ("bf16", {"precision": "bf16"}, 35_000),
        ("five lanes", {"lanes": 5}, 4_000),
    ),
    "power": (("TF32", {"precision": "tf32"}, 10_000),),
    "tickets": (("TF32", {"precision": "tf32"}, 60_000),),
}
"""By network (`entries.REFERENCES`): rows of the fleet, and the run-steps per second that the fastest of them should reach on one
H200, evaluations included."""
MANY = 64
"""Lanes from which on a fleet is measured against a goal that names no number of lanes."""


WHOLE = 0.7
"""Fraction of the rate of steps and evaluations alone that a whole sweep should reach."""


def _targets(measured: Measured) -> Table:
    rows = []
    gpu = measured["threads"] is None

    def row(
        what: str, value: float | None, good: Callable[[float], bool], show: Callable[[float], str] = short
    ) -> None:
        if value is not None:
            rows.append((what, show(value), "yes" if good(value) else "no"))

    def best(**asked: Any) -> Measured:
        found = [r for r in measured["fleet"] if r["run_steps_per_s"] and asked.items() <= r.items()]
        found = found if "lanes" in asked else [r for r in found if r["lanes"] >= MANY]
        return max(found, key=lambda r: r["run_steps_per_s"], default={})

    if gpu:
        for what, asked, least in GPU_TARGETS.get(measured.get("network", ""), ()):
            row(f"{what}: ≥ {least:,} run-steps/s", best(**asked).get("run_steps_per_s"), partial(operator.le, least))
    else:
        one, five = best(lanes=1), best(lanes=5)
        row("one run: ≥ 6 × the plain loop", one.get("ratio"), lambda v: v >= 6)
        row("… step ≤ 2 × its matrix products", one.get("step_over_products"), lambda v: v <= 2)
        if one and five:
            row("five lanes: ≤ 4.5 × one lane", 5 * five["step_s"] / one["step_s"], lambda v: v <= 4.5)
    started = measured.get("startup", {})
    row("`grokscope --help`: < 0.3 s", started.get("help_s"), lambda v: v < 0.3, "{:.2f} s".format)
    row("`import grokscope`: < 0.5 s, torch apart", started.get("import_s"), lambda v: v < 0.5, "{:.3f} s".format)
    seconds = "{:.1f} s".format
    row("import to first step: ≤ 6 s", started.get("first_step_s"), lambda v: v <= 6, seconds)
    row("… with all kernels to compile: ≤ 15 s", started.get("first_step_cold_s"), lambda v: v <= 15, seconds)
    watched = measured.get("watch", {})
    row("grokscope.watch adds ≤ 10 % to a step", watched.get("watch"), lambda v: v <= 0.1, "{:.1%}".format)
    row("… with the prior", watched.get("prior"), lambda v: v <= 0.1, "{:.1%}".format)
    row("the demo trains in ≤ 30 s", measured.get("demo_s"), lambda v: v <= 30, seconds)
    note = f"`import torch` by itself takes {started['torch_s']:.1f} s." if started else ""
    return Table("Targets", ("", "measured", "met"), rows, note)


def _sweeps(rows: Iterable[Measured]) -> Table:
    cells = [
        (
            row["precision"],
            f"{row['lanes']:,}",
            f"{row['epochs']:,}",
            short(row["run_steps_per_s"]),
            f"{row['of_bench']:.0%}",
            "yes" if row["of_bench"] >= WHOLE else "no",
        )
        for row in rows
    ]
    header = ("", "runs", "epochs", "run-steps/s", "of the rate above", f"≥ {WHOLE:.0%}")
    note = "Sweeps of as many runs as lanes above, from opening the first to saving the last; start-up and compilation apart."
    return Table("Whole sweeps", header, cells, note)


def _experiments(rows: Iterable[Measured]) -> Table:
    cells = []
    for row in rows:
        added = row["seconds"] * (1 - row["of_bench"]) / row["runs"]
        enough = added * row["bench_run_steps_per_s"] * WHOLE / (1 - WHOLE)
        cells.append(
            (
                row["experiment"],
                row["precision"],
                f"{row['runs']:,}",
                f"{len(row['lanes'])}",
                f"{row['seconds']:,.1f}",
                short(row["run_steps_per_s"]),
                short(row["bench_run_steps_per_s"]),
                f"{1000 * added:.1f} ms",
                f"{row['run_steps'] / row['runs']:,.0f}",
                f"{row['of_bench']:.0%}",
                f"{max(enough, 0):,.0f}",
            )
        )
    rates = ("run-steps/s", "bench", "added", "steps per run", "of bench", f"{WHOLE:.0%} from")
    header = ("experiment", "", "runs", "shapes", "s", *rates)
    note = (
        "Runs of experiments, trained together as `reproduce` trains them, from opening the first to saving the last; start-up and "
        "compilation apart. bench: steps and evaluations alone, of one shape after another, with as many lanes. added: the time of "
        "a run beyond them. Runs have as many steps as fit into the measurement, at most those of the experiment. "
        f"{WHOLE:.0%} from: steps per run from which the rate is {WHOLE:.0%} of bench, if what is added stays the same. Runs that "
        "refer to other runs are not among them."
    )
    return Table("Whole experiments", header, cells, note)


def _scaling(rows: Iterable[Measured]) -> Table:
    cells = []
    for row in rows:
        name = (row["axis"], f"{row['value']:,}", f"{row['lanes']:,}")
        if row["note"]:
            cells.append((*name, row["note"], "", ""))
        else:
            share = f"{row['run_steps_per_s'] / row['limit']:.0%}"
            cells.append((*name, short(row["run_steps_per_s"]), short(row["limit"]), share))
    header = ("axis", "value", "lanes", "run-steps/s", "limit", "of limit")
    note = "Training alone, without evaluations; d with an MLP of 4d, layers with causal attention."
    return Table("Scaling", header, cells, note)


def _every(measured: Measured) -> Table:
    cells = []
    for row in measured["all"]:
        if row["note"]:
            cells.append((row["entry"], row["note"], *[""] * 7))
            continue
        cells.append(
            (
                row["entry"],
                row["plain_loop"],
                short(row["plain_run_steps_per_s"]),
                f"{row['lanes']:,}",
                row["trained"],
                short(row["run_steps_per_s"]),
                short(row["ratio"]),
                short(row["limit"]),
                f"{row['of_limit']:.0%}",
            )
        )
    header = ("entry", "plain loop", "run-steps/s", "lanes", "trained", "run-steps/s", "ratio", "limit", "of limit")
    note = (
        "Each entry changes one setting of the default run, or is a network of the field (standard, power, tickets). plain loop: "
        "an ordinary nn.Module with autograd and torch.optim for one run, or the model's own forward. trained: with fused kernels, "
        "stacked with vmap, or each run alone. ratio: fleet over plain, with evaluations at the default interval. limit: "
        "run-steps/s if only the matrix products of a step, batched over the lanes, or the bytes that must move, took time."
    )
    newest = measured.get("version")
    older = Counter(row["version"] for row in measured["all"] if row.get("version", newest) != newest)
    for version, count in older.items():
        note += f" {count} entries were measured with grokscope {version}, the others with {newest}."
    return Table(f"Every entry, {measured['precision']}", header, cells, note)


def as_markdown(table: Table) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (table.header, *table.rows)]
    lines.insert(1, "|" + "---|" * len(table.header))
    return "\n".join([f"**{table.title}**", "", *lines, *(["", table.note] if table.note else [])])


def as_text(table: Table) -> str:
    """Aligned columns for a terminal: the first to the left, the others to the right."""
    cells = [table.header, *table.rows] if any(table.header) else list(table.rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            word.rjust(w) if place else word.ljust(w) for place, (word, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join([table.title, "", *(line.rstrip() for line in lines), *([table.note] if table.note else [])])


def short(value: float) -> str:
    """Three significant digits, with commas where there are more before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def si(value: float) -> str:
    """`468 M`: three significant digits and the letter of a thousand's power."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "


def rounded(value: Any) -> Any:
    """Round every number to five significant digits; the rest is noise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(own) for name, own in value.items()}
    return [rounded(own) for own in value] if isinstance(value, list) else value


def machine(measured: Measured) -> str:
    """`x86_64 CPU, 2 threads`"""
    threads = {None: "", 1: ", 1 thread"}.get(measured["threads"], f", {measured['threads']} threads")
    return f"{measured['device']}{threads}"


def picture(measured: Measured) -> Figure:
    """Of its scaling."""
    from .figures import cost_growth

    precision = measured["scaling"][0]["precision"]
    return cost_growth(measured["scaling"], title=f"{machine(measured)}, {precision}")
