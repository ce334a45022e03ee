"""The record of a search: candidates are encoded when they have changed, and the file is that of the whole."""

import json
import math

from grokscope.searching import tournament as module
from grokscope.searching.candidates import Standing
from grokscope.searching.tournament import Entry, Tournament
from grokscope.store import seal
from grokscope.store.tournaments import load_tournament, save_tournament


def entry_at(epoch):
    entry = Entry(units=(0, 2), run="abc", steps_per_epoch=1)
    entry.standings[epoch] = Standing((0, 2), 0.5, 0.1, 0.25)
    return entry


def test_every_change_is_encoded(monkeypatch):
    entry = entry_at(10)

    def epochs():
        entry.epochs = 10

    def curve():
        entry.set_curve([{"epoch": 0, "val_loss": 1.0, "val_calibrated_loss": math.inf}])

    def another_curve():
        entry.set_curve([{"epoch": 0, "val_loss": 2.0, "val_calibrated_loss": 0.5}])

    def rung():
        entry.standings[20] = Standing((0, 2), math.inf, 0.0, 0.0)

    def measured_again():
        entry.standings[20] = Standing((0, 2), 0.1, 0.0, 1.0)

    def dropped():
        entry.dropped, entry.why = 20, "loss 3 against 2 of “position 1”"

    seen = set()
    for change in (epochs, curve, another_curve, rung, measured_again, dropped):
        change()
        text = entry.encoded("positions")
        assert json.loads(text) == entry.to_dict("positions")
        seen.add(text)
    assert len(seen) == 6
    monkeypatch.setattr(module, "plain_json", None)
    assert entry.encoded("positions") == text, "nothing has changed: not encoded again"


def test_the_file_is_that_of_the_whole(tmp_path):
    found = Tournament(id="abc", family="positions", settings={}, config={"note": "é"}, budget=9, chance=0.7)
    for units in ((0,), (1,)):
        found.entries[units] = Entry(units=units, run="abc", steps_per_epoch=1, dropped=1, why="“worse”")
    folder = save_tournament(tmp_path, "abc", found.head(), found.encoded())
    label = "search search-abc/tournament.json"
    assert (folder / "tournament.json").read_bytes() == seal.sealed_json(found.to_dict(), label, indent=None)
    assert load_tournament(tmp_path, "abc") == json.loads(json.dumps(found.to_dict()))
