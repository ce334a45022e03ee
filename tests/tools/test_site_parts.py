"""The parts of the site's build: formulas, links, notebooks, docstrings, and the pages about papers."""

import inspect
import json
import re
import xml.etree.ElementTree as ET

import pytest

from tools.site import python as python_page
from tools.site.markdown import plain, relinked, typeset
from tools.site.mathml import mathml
from tools.site.notebooks import KERNEL, notebook_page


def inner(latex, **how):
    """The MathML without its wrapping and annotation."""
    return re.search(r"<semantics><mrow>(.*)</mrow><annotation", mathml(latex, **how))[1]


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("x_1", "<msub><mi>x</mi><mrow><mn>1</mn></mrow></msub>"),
        (r"\frac{1}{k}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mi>k</mi></mrow></mfrac>"),
        (
            r"\alpha^\ast_j",
            '<msubsup><mi>α</mi><mrow><mi>j</mi></mrow><mrow><mo stretchy="false">∗</mo></mrow></msubsup>',
        ),
        (r"\sqrt{2}", "<msqrt><mrow><mn>2</mn></mrow></msqrt>"),
        (r"\mathrm{KL}", '<mi mathvariant="normal">KL</mi>'),
        ("a - b", "<mi>a</mi><mo>−</mo><mi>b</mi>"),
        ("a < b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        ("h'", '<mrow><mi>h</mi><mo lspace="0" rspace="0">′</mo></mrow>'),
    ],
)
def test_formulas_by_hand(latex, expected):
    assert inner(latex) == expected


def test_limits_stand_below_a_sum_only_where_it_is_displayed():
    assert inner(r"\sum_i", display=True).startswith("<munder>")
    assert inner(r"\sum_i").startswith("<msub>")


@pytest.mark.parametrize("latex", [r"\unheard", r"\frac{1}", "{a", "a}"])
def test_a_formula_that_is_not_understood_is_an_error(latex):
    with pytest.raises(ValueError, match="in the formula"):
        mathml(latex)


def test_formulas_are_typeset_outside_of_code_only():
    text = "a $x$ and `$y$`\n\n```sh\necho $z$\n```\n\n$$\nD\n$$\n"
    out = typeset(text)
    assert "`$y$`" in out and "echo $z$" in out
    assert out.count("<math") == 2 and '<math display="block">' in out
    for found in re.findall(r"<math.*?</math>", out):
        ET.fromstring(found)  # well formed


def test_links_of_the_repository_become_those_of_the_site(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    text = (
        "[a](../../src/a.py) [b](../../CONTRIBUTING.md#tests) [c](../x.md#y) [d](#here) [e](https://a.b) "
        "`[f](../../src/a.py)` [g](../n.ipynb)"
    )
    out, wanted = relinked(text, "concepts/p.md", "docs/concepts/p.md", tmp_path)
    assert out == (
        "[a](../source/src/a.py.txt) [b](../contributing.md#tests) [c](../x.md#y) [d](#here) [e](https://a.b) "
        "`[f](../../src/a.py)` [g](../n.md)"
    )
    assert wanted == {"src/a.py"}


def test_a_notebook_becomes_a_page_with_its_outputs(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": ["1 + 1"],
            "outputs": [{"data": {"text/plain": ["2"]}}, {"data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}}],
        },
    ]
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    text, pictures = notebook_page(path)
    assert text.startswith("# Title\ntext\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n\n![")
    assert pictures == {"n-1.png": b"hi"}


@pytest.mark.skipif(not KERNEL, reason="needs nbclient and ipykernel: the extra docs")
def test_a_notebook_is_executed_for_its_page_and_stays_as_it_is(tmp_path):
    cell = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": ["x = 2\n", "print(x + 3)"],
    }
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), encoding="utf-8")
    before = path.read_bytes()
    assert "```text\n5\n```" in notebook_page(path, execute=True)[0]
    assert "```text" not in notebook_page(path)[0]
    assert path.read_bytes() == before


def test_stars_of_docstrings_are_no_emphasis():
    assert plain("KL(α*‖α) | where α* is `a*b` < 1") == "KL(α\\*‖α) \\| where α\\* is `a*b` &lt; 1"
    from tools.site.components import components_page
    from tools.site.settings import settings_page

    for page in (components_page(), settings_page()):
        assert "α\\*" in page and "α*" not in re.sub(r"`[^`]*`", "", page)


def test_a_choice_of_an_option_is_one_cell_without_backslashes():
    """The extension of mkdocs for tables leaves bars within code alone, and shows a backslash before them."""
    markdown = pytest.importorskip("markdown", reason="needs the extra docs").markdown
    table = f"| option | meaning |\n|---|---|\n| {plain('`--device` `auto | cpu`')} | {plain('a | b')} |"
    shown = markdown(table, extensions=["tables"])
    assert "<td><code>--device</code> <code>auto | cpu</code></td>" in shown and "<td>a | b</td>" in shown


def test_arguments_of_a_docstring_become_a_list():
    text = "Does it.\n\nfirst   what it is,\n        in two lines\nsecond  the other\n\nMore."
    lines = python_page.docstring(text).splitlines()
    assert lines == [
        "Does it.",
        "",
        "",
        "- `first`: what it is,",
        "    in two lines",
        "- `second`: the other",
        "",
        "More.",
    ]


def test_a_signature_is_that_of_the_source():
    def plain(a: "int", *, b: "Literal['x', 'y']" = "x", c=print) -> "str": ...

    assert python_page._signature("plain", plain) == "plain(a: int, *, b: Literal['x', 'y'] = 'x', c=…) -> str"
    assert python_page._signature("plain", plain, width=20).splitlines()[:3] == ["plain(", "    a: int,", "    *,"]


def test_every_public_name_is_documented():
    import grokscope

    page = python_page.python_page()
    for name in grokscope.__all__:
        if inspect.ismodule(getattr(grokscope, name)):
            assert f"\n## grokscope.{name}\n" in page
        elif not name.startswith("_"):
            part = page.split(f"### grokscope.{name} {{")[1].split("\n### ")[0]
            assert len(part.split("```")[-1].strip()) > 20, name


ROW = {
    "id": "gt-x/sooner",
    "paper": "grokking-tickets",
    "of": "paper",
    "statement": "A ticket is sooner.",
    "reported": "10 times",
    "when": "",
    "remark": "It asks little.",
    "q": 0.2,
    "p": 0.1,
    "verdict": "disagrees",
    "cases": [
        {"name": "", "effects": [{"text": "time ratio 1.2 (0.9 to 1.6)"}], "measured": "", "verdict": "disagrees"}
    ],
}


def test_a_paper_page_says_what_the_ledger_says():
    pytest.importorskip("yaml", reason="needs the extra docs")
    from grokscope.experiments.ledger import Ledger
    from tools.site.papers import PaperPages

    pages = PaperPages.__new__(PaperPages)
    from tools.site import papers

    pages.ledger, pages.rows, pages.cited, pages.draw = Ledger("full", [], []), [ROW], papers.citations(), False
    text, pictures = pages.page("grokking-tickets")
    does_not = text.split("### What does not hold")[1].split("## Outstanding")[0]
    (line,) = [line for line in does_not.splitlines() if line.startswith("- ")]  # one per claim; the card has the rest
    assert line.startswith("- **disagrees**; not below a false-discovery rate of 5 %: A ticket is sooner.")
    assert "Note: It asks little." in line
    assert line.endswith(" [gt-x/sooner](../gallery.html#gt-x/sooner)")
    assert "The paper's own: 1 statement: 1 disagrees. Its critics' and ours: 0 statements." in text
    assert "### What holds" not in text and not pictures
    assert "`gt-fig2a`" in text.split("## Outstanding")[1]
    assert "arxiv.org/abs/2310.19470" in text and "Minegishi, Iwasawa & Matsuo" in text
    assert "| grokking-tickets | the paper's | 1 | 0 | 0 | 1 | 0 | 0 |" in pages.index()
    empty, _ = pages.page("inductive-bias")
    assert "No results are current" in empty
