"""Pages that say something else than the results are found, line by line."""

import json

import pytest
from tables import lognormal, results_of

from grokscope.config import RunConfig
from grokscope.experiments import base
from grokscope.experiments.base import VERDICTS, Claim, Experiment
from grokscope.experiments.cards import counts_table
from grokscope.experiments.check_pages import disagreements
from grokscope.experiments.claims_page import claims_page
from grokscope.experiments.frozen import rule_hashes
from grokscope.experiments.gallery import gallery
from grokscope.experiments.ledger import Ledger
from grokscope.experiments.pending import missing
from grokscope.experiments.rules import NotTested, Sooner
from grokscope.store.results import save_results


@pytest.fixture
def ledger(monkeypatch):
    rules = {"sooner": Sooner("a", "b"), "later": Sooner("b", "a"), "data": NotTested("no data")}
    claims = [Claim(name=n, statement=f"It is {n}.", rule=rule, text="Rule.") for n, rule in rules.items()]
    experiment = Experiment(
        name="toy-one",
        paper="structural-inference",
        title="Toy",
        question="Is it sooner?",
        base=RunConfig(),
        arms={"a": {}, "b": {}},
        seeds=20,
        claims=claims,
        pictures={},
    )
    monkeypatch.setitem(base._experiments, "toy-one", experiment)
    made = results_of(a=lognormal(1000, seed=1), b=lognormal(2000, seed=2))
    runs = made.runs.assign(t_stable_95=None, steps=1, step_seconds=0.1)
    runs = runs.assign(t_mem=10.0, t_c=None, t_grok=None, gradient_fall=None, gradient_rise=None, loss_bump=None)
    curves = runs[["run", "epoch"]].assign(train_accuracy=1.0, test_accuracy=1.0)
    about = {"experiment": "toy-one", "scale": "full", "device": "cpu", "rules": rule_hashes(experiment)}
    return Ledger("full", [(experiment, made._replace(about=about, runs=runs, curves=curves))], [], {})


@pytest.fixture
def root(ledger, tmp_path):
    """A folder with pages that agree."""
    (tmp_path / "docs").mkdir()
    rows = ledger.rows()
    (tmp_path / "docs" / "claims.md").write_text(claims_page(ledger, rows))
    (tmp_path / "docs" / "gallery.html").write_text(gallery(ledger, rows, "grokscope"))
    ratio = rows[0]["cases"][0]["effects"][0]["text"].split()[3]
    (tmp_path / "README.md").write_text(
        f"# Title\n\nBefore 1999 nothing. In 20 seeds the first is sooner, by a ratio of {ratio} "
        "[toy-one/sooner: agrees](docs/claims.md#toy-one). More text with 77.\n\n- The second is not [toy-one/later: disagrees].\n"
    )
    return tmp_path


def test_pages_that_agree(ledger, root):
    assert disagreements(ledger, ledger.rows(), root) == []


@pytest.mark.parametrize(
    ("page", "old", "new", "problem"),
    [
        ("README.md", "sooner: agrees", "sooner: disagrees", "[toy-one/sooner: disagrees] should say: agrees"),
        ("README.md", "toy-one/later: disagrees", "toy-one/later", "[toy-one/later: ] should say: disagrees"),
        ("README.md", "In 20 seeds", "In 21 seeds", "21 is not in the results of toy-one/sooner"),
        ("README.md", "toy-one/later:", "toy-one/latter:", "no claim toy-one/latter in the results"),
        ("docs/claims.md", "toy-one/later: disagrees", "toy-one/later: agrees", "differs from the results, which give"),
        (
            "docs/gallery.html",
            "Our runs disagree",
            "Our runs agree",
            "toy-one/later differs from the results (disagrees)",
        ),
        ("docs/gallery.html", 'data-verdict="disagrees" aria', 'data-verdict="agrees" aria', "toy-one/later differs"),
        ("docs/gallery.html", "</span> disagrees</td><td>It", "</span> agrees</td><td>It", "toy-one/later differs"),
        ("docs/gallery.html", "It is sooner.</h4>", "It is soon.</h4>", "toy-one/sooner differs"),
        ("docs/gallery.html", 'cy="9" r="4"', 'cy="8" r="4"', "toy-one/"),
        ("docs/gallery.html", "40 runs", "41 runs", "counts other runs"),
        ("docs/gallery.html", '<td class="number">3</td>', '<td class="number">4</td>', "counts other verdicts"),
        (
            "docs/gallery.html",
            '<section class="paper"',
            '<article class="claim x" id="toy-two/x"',
            "no claim toy-two/x",
        ),
    ],
)
def test_pages_that_disagree(ledger, root, page, old, new, problem):
    text = (root / page).read_text()
    assert old in text
    (root / page).write_text(text.replace(old, new))
    found, *_ = disagreements(ledger, ledger.rows(), root)
    assert problem in found and found.startswith(page.split("/")[-1])


def test_missing_pages_are_named(ledger, tmp_path):
    assert len(disagreements(ledger, ledger.rows(), tmp_path)) == 2


def test_the_summary_counts_and_names_what_disagrees(ledger):
    page = claims_page(ledger, ledger.rows())
    head = page.partition("## How to read")[0]
    assert "| structural-inference | the paper's | 3 | 1 | 0 | 1 | 0 | 1 |" in head
    assert "| all | the paper's | 3 | 1 | 0 | 1 | 0 | 1 |" in head and "ours" not in head
    assert "- [toy-one/later](#toy-one) It is later." in head and "toy-one/sooner" not in head
    assert "### toy-one/sooner: agrees" in page and "FDR q = " in page and "Settings: ours." in page


def test_statements_are_counted_by_whose_they_are(ledger):
    """Where the paper says one thing and a critic another, their verdicts are not added up."""
    rows = [dict(row, of=of) for row, of in zip(ledger.rows(), ("paper", "critic", "ours"), strict=True)]
    head = claims_page(ledger, rows).partition("## How to read")[0]
    for row, whose in zip(rows, ("the paper's", "its critics'", "ours"), strict=True):
        counts = " | ".join("1" if verdict == row["verdict"] else "0" for verdict in VERDICTS)
        assert f"| structural-inference | {whose} | 1 | {counts} |" in head
    assert "- [toy-one/later](#toy-one) It is later. (" in head
    table = counts_table(rows)
    for title in ("of the papers", "of critics", "ours"):
        assert f'<th scope="row">{title}</th><td class="number">1</td>' in table


def test_q_values_are_over_the_whole_ledger(ledger):
    rows = ledger.rows()
    assert [row["q"] is None for row in rows] == [False, False, True]
    assert all(row["q"] >= row["p"] for row in rows[:2])
    json.dumps(rows, allow_nan=False)


def test_the_command_fails_where_a_page_disagrees(ledger, root, run, monkeypatch):
    (experiment, results), *_ = ledger.found
    monkeypatch.setattr("grokscope.experiments.pending.all_experiments", lambda: {"toy-one": experiment})
    monkeypatch.setattr("grokscope.experiments.ledger.all_experiments", lambda: {"toy-one": experiment})
    save_results(root / "results", results)
    code, out, err = run("claims", "--results", str(root / "results"), "--check")
    assert (code, out) == (0, "3 verdicts agree with the pages.\n"), err
    (root / "README.md").write_text("It is [toy-one/sooner: disagrees].")
    code, _, err = run("claims", "--results", str(root / "results"), "--check")
    assert code == 1 and "should say: agrees" in err


def test_experiments_without_results_are_pending_or_missing(ledger, tmp_path):
    assert "si-fig8: no current results, and not in pending.txt" in missing(ledger, tmp_path)
    (tmp_path / "pending.txt").write_text("# comment\n[a-z]*-*\nno-such\n")
    assert missing(ledger, tmp_path) == ["pending.txt: no experiment is called no-such"]
