"""What a scope costs: the same steps are made alone and watched. How long they take is for `grokscope bench`."""

from grokscope.bench import watching


def test_all_kinds_are_timed_in_turn(monkeypatch):
    asked = []
    clock = {None: 2.0, 0.0: 2.2, 0.3: 3.0}

    def block(beta):
        asked.append(beta)
        return clock[beta]

    found = watching._compared(block, rounds=2)
    assert asked[1:] == [None, 0.0, 0.3] * 2
    assert found == {"step_s": 2.0, "watch": 2.2 / 2.0 - 1, "prior": 0.5}


def test_the_steps_are_made(monkeypatch):
    monkeypatch.setattr(watching, "LAYERS", 1)
    monkeypatch.setattr(watching, "BATCH", 2)
    found = watching.overhead(rounds=1, steps=2)
    assert found["step_s"] > 0 and found["watch"] > -1 and found["prior"] > -1
