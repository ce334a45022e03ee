"""The code of docs/python.md runs from top to bottom, and does what the page says."""

from pages import DOCS, blocks

import grokscope


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = blocks(DOCS / "python.md", "python")
    assert len(code) == 4 and code[0].count("epochs=1000") == 1
    code[0] = code[0].replace("epochs=1000", "epochs=50")
    names = {}
    for block in code:
        exec(compile(block, "python.md", "exec"), names)
    out = capsys.readouterr().out
    assert "0 0 0.0" in out and "<Run " in out and "'first try' done at epoch 50, seed 0>" in out
    assert (tmp_path / "train-test.pdf").stat().st_size > 1000
    mine = grokscope.list_runs("runs/mine")
    assert [run.status for run in mine] == ["grokked"] * 3
    assert all(1200 <= run.summary["t_grok"] <= 1300 for run in mine)
    assert grokscope.analysis.run_times(names["one"], names["criterion"]).t_grok == 500
    assert "500 100" in out
    (trend,) = [line for line in out.splitlines() if line.startswith("Trend(z=")]
    assert float(trend.split("z=")[1].split(",")[0]) > 2  # wider is sooner in this table
