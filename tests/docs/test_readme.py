"""What the README says holds: its Python example groks, its numbers are the generated ones, and it stays short."""

import re

from pages import README, blocks

from tools import readme_page


def test_the_python_example_is_small_enough_to_try(tmp_path, monkeypatch, capsys):
    """The example for two epochs; `tools.readme_page --example` runs it whole and keeps what it prints."""
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(README, "python")
    assert code.count("epochs=1500") == 1
    exec(compile(code.replace("epochs=1500", "epochs=2"), "README.md", "exec"), {})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["seed 0", "seed 1"]
    assert all("grokked at epoch None" in line for line in lines)


def test_the_python_example_groks():
    """What it printed when it was run whole is on the page."""
    (printed,) = blocks(README, "text")
    times = re.findall(r"memorised at epoch (\d+), grokked at epoch (\d+)", printed)
    assert len(times) == 2 and all(int(grokked) > 2 * int(memorised) for memorised, grokked in times)
    assert re.search(r"It takes about \d+ seconds of CPU time", README.read_text(encoding="utf-8"))


def test_the_generated_parts_are_current():
    for page in readme_page.PAGES:
        assert readme_page.filled(page) == page.read_text(encoding="utf-8"), page.name
        assert "<!-- filled: " in page.read_text(encoding="utf-8")


def test_every_number_of_the_demo_is_generated():
    """No epoch is typed outside of the generated parts."""
    rest = readme_page.PART.sub("", README.read_text(encoding="utf-8"))
    assert not re.search(r"epoch \d", re.sub(r"```.*?```", "", rest, flags=re.DOTALL))


def test_it_is_short():
    assert len(README.read_text(encoding="utf-8").split()) <= 1000
