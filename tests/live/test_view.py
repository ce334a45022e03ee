"""What a page is told: rows, curves, filters, phases, speed and time left."""

import json

import pytest
from made_up import finished, open_run, row, rows, save

from grokscope.errors import ConfigError
from grokscope.live.board import Board
from grokscope.live.choice import Choice, read_choice
from grokscope.live.drawing import ALL, MOST_LINES
from grokscope.live.freeze import frozen
from grokscope.live.positions import PositionNames
from grokscope.live.view import View
from grokscope.store import delete_runs


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def polled(runs):
    board = Board(runs)
    board.poll()
    return board


def told(board, **choice):
    message = View(board, Choice(**choice)).message()
    json.dumps(message, allow_nan=False)
    return message


def series(message, panel, *, dashed=False):
    return [own for own in message["curves"]["panels"][panel] if own["dashed"] == dashed]


def test_a_run_in_training_and_a_finished_one(runs):
    finished(runs, "old", seed=1, beta=0.3)
    with open_run(runs, "new") as run:
        save(run, rows(200))
        run.append([row(225)])
        message = told(polled(runs))
    assert message["order"] == ["new", "old"]  # what trains comes first
    new, old = message["rows"]["new"], message["rows"]["old"]
    assert (new["status"], new["epoch"], new["epochs"], new["phase"]) == ("running", 225, 1000, "plateau")
    assert (new["speed"], new["left"]) == (100.0, 8)  # 775 epochs, 100 per second
    assert (old["status"], old["phase"], old["t_mem"], old["speed"], old["left"]) == (
        "grokked",
        "grokking",
        100,
        None,
        None,
    )
    assert old["t_grok"] == 500
    head = message["head"]
    assert head["statuses"] == {"running": 1, "finished": 1}
    assert head["phases"] == {"plateau": 1, "grokking": 1}
    assert (head["speed"], head["left"], head["runs"], head["of"]) == (100.0, 8, 2, 2)


def test_curves_hold_every_row_of_few_runs(runs):
    finished(runs, "a", last=200)
    finished(runs, "b", beta=0.3, grokked=100, last=300)
    message = told(polled(runs))
    curves = message["curves"]
    assert curves["lines"] and curves["x"] == list(range(25, 301, 25))
    assert [group["name"] for group in curves["groups"]] == ["no prior", "β = 0.3"]
    assert [group["label"] for group in curves["groups"]] == ["no prior", "β = 0.3"]
    assert curves["groups"][0]["colour"] == "#0072B2"
    a, b = series(message, "accuracy", dashed=True)
    assert (a["run"], b["run"]) == ("a", "b")
    assert a["y"] == [0.25, 0.5, 0.75, 1, 1, 1, 1, 1, None, None, None, None]
    assert {own["run"] for own in series(message, "gradient", dashed=True)} == {"a", "b"}  # its bound
    assert told(polled(runs), linear=True)["curves"]["x"][0] == 0
    assert message["outcomes"] == {"no prior": "not grokked", "β = 0.3": "grokked at epoch 100"}


def test_more_than_twenty_runs_are_a_median_and_a_band(runs):
    for seed in range(MOST_LINES + 1):
        finished(runs, f"r{seed:02}", seed=seed, grokked=300 + 10 * seed)
    message = told(polled(runs), run="r03")
    (middle, selected) = series(message, "accuracy")
    assert not message["curves"]["lines"]
    assert (selected["run"], selected["group"]) == ("r03", -1)
    assert all(
        low <= value <= high for low, value, high in zip(middle["low"], middle["y"], middle["high"], strict=True)
    )
    assert any(low < high for low, high in zip(middle["low"], middle["high"], strict=True))
    assert message["outcomes"] == {"all runs": "21 of 21 grokked, median epoch 400"}


def test_many_conditions_share_a_colour_until_a_setting_is_chosen(runs):
    for number in range(8):
        finished(runs, f"r{number}", beta=number / 10, last=100)
    board = polled(runs)
    assert [group["name"] for group in told(board)["curves"]["groups"]] == [ALL]
    assert told(board)["curves"]["conditions"] == 8
    names = [group["name"] for group in told(board, by="prior.beta")["curves"]["groups"]]
    assert names == [f"prior.beta = {number / 10}" for number in range(8)]


def test_filters_by_setting_status_and_text(runs):
    finished(runs, "abc", beta=0.3)
    finished(runs, "abd", beta=0.1)
    open_run(runs, "xyz", beta=0.3).close()
    board = polled(runs)
    assert told(board)["filters"] == {"prior.beta": ["0.1", "0.3"]}
    assert told(board, where={"prior.beta": "0.3"})["order"] == ["abc", "xyz"]
    assert told(board, status="finished")["order"] == ["abc", "abd"]
    assert told(board, status="stopped")["order"] == ["xyz"]
    assert told(board, text="AB")["order"] == ["abc", "abd"]
    assert told(board, text="beta = 0.1")["order"] == ["abd"]
    assert told(board, where={"prior.beta": "7"})["order"] == []
    assert told(board, where={"no.such": "7"})["head"]["runs"] == 0


def test_a_message_holds_what_changed(runs):
    finished(runs, "old", seed=1)
    with open_run(runs, "new") as run:
        run.append([row(25)])
        board = polled(runs)
        view = View(board, Choice())
        assert {"head", "rows", "order", "filters", "curves", "outcomes", "selected"} == view.message().keys()
        board.poll()
        assert view.message().keys() == {"head"}
        run.append([row(50)])
        board.poll()
        message = view.message()
        assert message.keys() == {"head", "rows", "order", "curves"}
        assert message["rows"].keys() == {"new"}


def test_a_deleted_run_leaves_the_page(runs):
    finished(runs, "a")
    finished(runs, "b", beta=0.3)
    board = polled(runs)
    view = View(board, Choice(run="b"))
    assert view.message()["selected"]["id"] == "b"
    delete_runs([runs / "b"])
    board.poll()
    message = view.message()
    assert message["order"] == ["a"] and message["filters"] == {}
    assert message["selected"] == {"id": "b", "gone": True}
    assert [group["name"] for group in message["curves"]["groups"]] == ["all runs"]


def test_damaged_and_failed_runs_say_why(runs):
    finished(runs, "broken")
    (runs / "broken" / "state.json").write_text("{")
    with open_run(runs, "failed", seed=1) as run:
        run.fail("RuntimeError: out of luck")
    rows_ = told(polled(runs))["rows"]
    assert rows_["broken"]["status"] == "damaged" and "state.json" in rows_["broken"]["problem"]
    assert (rows_["failed"]["status"], rows_["failed"]["problem"]) == ("failed", "RuntimeError: out of luck")


def test_a_folder_that_does_not_exist_yet(runs):
    board = polled(runs)
    assert "no such folder" in told(board)["head"]["problem"]
    finished(runs, "a")
    board.poll()
    assert told(board)["head"]["problem"] == "" and told(board)["order"] == ["a"]


def test_the_selected_run_with_its_attention(runs):
    finished(runs, "a")
    board = polled(runs)
    known = {}
    view = View(board, Choice(run="a"), lambda run: known.get(run.id))
    first = view.message()["selected"]
    assert first["attention"]["names"] == [f"position {place}" for place in range(5)]  # until the settings are read
    names = PositionNames()
    names.read(board.runs["a"].info)
    known["a"] = names(board.runs["a"].info)
    attention = view.message()["selected"]["attention"]
    assert attention["names"] == ["a", "b", "distractor 1", "distractor 2", "="]
    assert attention["informative"] == [0, 1]
    assert len(attention["mass"]) == 5 and attention["mass"][0][-1] == pytest.approx(0.45, abs=1e-3)
    assert first["spans"][0] == ["memorisation", 0, 100]
    assert first["sentences"][3].startswith("Grokking") and "epoch 500" in first["sentences"][3]
    assert ["prior.beta", "0.0"] in first["settings"]


def test_the_informative_positions_of_a_watched_run(runs):
    more = {"kind": "watched", "name": "mine", "tokens": {"informative": "positions 0 3", "query": "-1"}}
    with open_run(runs, "mine", **more) as run:
        save(run, rows(50), "done")
    board = polled(runs)
    names = PositionNames()
    names.read(board.runs["mine"].info)
    attention = View(board, Choice(run="mine"), names).message()["selected"]["attention"]
    assert attention["informative"] == [0, 3]
    assert attention["names"][0] == "position 0"


def test_a_run_without_the_metrics_of_the_page(runs):
    with open_run(runs, "odd") as run:
        run.append([{"epoch": 3, "loss": 1.0}])
        message = told(polled(runs), run="odd")
    assert message["rows"]["odd"]["epoch"] == 3
    assert message["curves"]["panels"] == {"accuracy": [], "divergence": [], "gradient": [], "norms": []}
    assert message["selected"]["attention"] is None


@pytest.mark.parametrize(
    "text", ["[]", "{", '"a"', '{"where": []}', '{"where": {"a": 1}}', '{"run": 1}', '{"x": ""}', '{"linear": 1}']
)
def test_a_view_that_no_page_sends_is_refused(text):
    with pytest.raises(ConfigError):
        read_choice(text)


def test_the_view_of_a_page_is_read():
    assert read_choice("") == Choice()
    assert read_choice('{"where": {"a.b": "1"}, "linear": true}') == Choice(where={"a.b": "1"}, linear=True)


def test_the_frozen_view_is_the_report_of_its_runs(runs, tmp_path):
    finished(runs, "aaa", beta=0.3)
    finished(runs, "bbb", beta=0.1)
    open_run(runs, "ccc", beta=0.3).close()
    board = polled(runs)
    page = frozen(board, Choice(where={"prior.beta": "0.3"}))
    assert "aaa" in page and "bbb" not in page
    assert f"grokscope report --runs {runs} --where prior.beta=0.3" in page
    assert f"grokscope report --runs {runs} bbb" in frozen(board, Choice(text="bb"))
    with pytest.raises(ConfigError, match="saved a row"):
        frozen(board, Choice(text="ccc"))
