"""The pictures and sections of an audit: what is measured beside what is claimed, and nothing where nothing is claimed."""

from __future__ import annotations

import math

import matplotlib as mpl
import numpy as np
import pytest

from grokscope import figures
from grokscope.errors import ConfigError
from grokscope.figures import RunCurves
from grokscope.papers.structural_inference.audit import check
from grokscope.papers.structural_inference.audit.page import FIGURES, sections, tally, with_claims
from grokscope.papers.structural_inference.figures.audit import (
    bound_ratio,
    divergence_under_envelope,
    mass_against_threshold,
    norm_against_decay,
)
from grokscope.report import Page, render

PICTURES = [
    mass_against_threshold,
    norm_against_decay,
    divergence_under_envelope,
    bound_ratio,
]
every_picture = pytest.mark.parametrize("draw", PICTURES, ids=lambda draw: draw.__name__)


def curves(run, arm="no prior", seed=0):
    return RunCurves(arm=arm, seed=seed, metrics=run.metrics, t_mem=run.phases.t_mem, t_grok=run.phases.t_grok)


@pytest.fixture
def drawn(make, with_prior):
    """Two arms, one with the oracle prior."""
    runs = {"no prior": make(), "oracle": make(with_prior())}
    return [with_claims(curves(run, arm), run) for arm, run in runs.items()]


def lines(figure):
    return [{line.get_label(): line for line in ax.lines} for ax in figure.axes]


def test_claims_become_columns(make, with_prior):
    run = make(with_prior())
    table = with_claims(curves(run), run).metrics.set_index("epoch")
    assert table["gamma"].unique() == pytest.approx([0.3])
    assert table["gamma_sampled"].unique() == pytest.approx([0.4])
    assert table["uniform"].unique() == pytest.approx([0.2])
    assert table["delta_nec"].unique() == pytest.approx([math.log(1 / 0.6)])
    assert table["r_max"].unique() == pytest.approx([10])
    assert table["envelope"][200] == pytest.approx(0.9 * math.exp(-2))  # β̃ = 0.01, the rate of the first fall
    assert math.isnan(table["free_decay"][90])
    assert table["free_decay"][100] == pytest.approx(20)
    assert table["free_decay"][150] == pytest.approx(20 * 0.99**50)


def test_what_is_not_claimed_is_not_drawn(make, replayed):
    run = make(nets=(), test_accuracy=0.1, train_accuracy=0.1)
    table = with_claims(curves(run), run).metrics
    assert table[["gamma", "gamma_sampled", "delta_nec", "r_max", "free_decay", "envelope"]].isna().all(axis=None)
    (panel,) = lines(mass_against_threshold([with_claims(curves(run), run)]))
    assert {"mass_worst", "mass_mean", "uniform"} <= set(panel)
    assert "gamma" not in panel


def test_mass_beside_gamma(drawn):
    figure = mass_against_threshold(drawn)
    for panel in lines(figure):
        assert panel["gamma"].get_ydata()[0] == pytest.approx(0.3)
        assert panel["mass_worst"].get_ydata()[-1] == pytest.approx(0.45)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "worst input", "mean of inputs", "γ, L_max from above", "γ, L_max sampled", "uniform attention", "grokking",
    ]  # fmt: skip


def test_the_envelope_is_drawn_for_the_oracle_prior_alone(drawn):
    plain, told = lines(divergence_under_envelope(drawn))
    assert np.isnan(plain["envelope"].get_ydata()).all()
    np.testing.assert_allclose(told["envelope"].get_ydata(), told["D"].get_ydata())  # D falls as it began


def test_norm_and_ratio_have_their_limits(drawn):
    for panel in lines(norm_against_decay(drawn)):
        assert {"mlp_norm", "r_max", "free_decay"} <= set(panel)
    marks = [line for ax in bound_ratio(drawn).axes for line in ax.lines if line.get_gid() == "violation"]
    assert [line.get_ydata()[0] for line in marks] == [1, 1]


@every_picture
def test_pictures_render_and_can_be_read(draw, drawn):
    figure = draw(drawn)
    assert figures.to_svg(figure).rstrip().endswith("</svg>")
    sizes = [text.get_fontsize() for text in figure.findobj(mpl.text.Text) if text.get_text()]
    assert min(sizes) >= 7
    assert {ax.get_xlabel() for ax in figure.axes} == {"epoch"}
    with pytest.raises(ConfigError, match="no runs to draw"):
        draw([])


def test_sections_say_every_verdict(make, with_prior):
    runs = [make(), make(mass_worst=0.01), make(with_prior())]
    arms = ["no prior", "no prior", "oracle"]
    summary, every = sections(
        [check(run) for run in runs], [curves(run, arm, n) for n, (run, arm) in enumerate(zip(runs, arms, strict=True))]
    )
    assert summary.header == ("statement", "no prior", "oracle")
    rows = {row[0].split(":")[0]: row[1:] for row in summary.rows}
    assert rows["Def. 4.1, 4.2"] == ("1 holds, 1 violated", "holds")
    assert rows["Eq. 52"] == ("not applicable", "holds")
    assert [picture.name for picture in summary.pictures] == list(FIGURES)
    assert len(every.rows) == 27
    html = render(Page(title="An audit", command="grokscope audit", sections=(summary, every)))
    assert html.count("<figure") == 4
    assert "1 holds, 1 violated" in html


def test_tally():
    assert tally(["holds", "holds"]) == "holds"
    assert tally(["holds", "violated", "holds"]) == "2 holds, 1 violated"
