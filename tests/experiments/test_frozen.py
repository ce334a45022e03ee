"""The hash of a rule: changes with what it decides, and with nothing else."""

from dataclasses import dataclass, replace

from tables import results_of

from grokscope.experiments.base import Case, Claim, find_experiment
from grokscope.experiments.cards import _notes
from grokscope.experiments.clocks import FIRST_95, FIRST_99
from grokscope.experiments.columns import column, registered
from grokscope.experiments.frozen import current_commit, frozen_at, is_ancestor, made_from, provenance, rule_hash
from grokscope.experiments.ledger import rulings
from grokscope.experiments.rules import Custom, InEach, Less, NotTested, Sooner


def hashed(rule):
    return rule_hash(Claim(name="a", statement="A.", rule=rule, text="Text."))


def test_fields_count_and_names_of_clocks_do_not():
    rule = Sooner("a", "b")
    assert hashed(rule) == hashed(Sooner("a", "b", FIRST_99)) == hashed(Sooner("a", "b", replace(FIRST_99, name="x")))
    others = [
        Sooner("b", "a"),
        Sooner("a", "b", FIRST_95),
        Sooner("a", "b", margin=1.2),
        InEach({"": rule}),
        NotTested("a"),
    ]
    assert len({hashed(one) for one in [rule, *others]}) == 6


def test_the_words_around_a_rule_do_not_count():
    one = Claim(name="a", statement="A.", rule=Sooner("a", "b"), text="One.")
    assert rule_hash(one) == rule_hash(replace(one, statement="B.", text="Two."))


def judge_with(limit):
    def judge(results):
        # a comment
        return Case(p_for=limit)

    return judge


def test_code_and_what_it_closed_over_count():
    assert hashed(Custom("x", judge_with(0.1))) == hashed(Custom("x", judge_with(0.1)))
    assert hashed(Custom("x", judge_with(0.1))) != hashed(Custom("x", judge_with(0.2)))

    def judge(results):
        return Case(p_for=0.1)

    assert hashed(Custom("x", judge)) != hashed(Custom("x", judge_with(0.1)))


def test_the_code_of_a_registered_column_counts():
    before = hashed(Less("made-up", "a", "b"))

    @column("made-up")
    def made_up(results):
        return results.runs.set_index("run")["epoch"]

    try:
        assert hashed(Less("made-up", "a", "b")) != before
        assert Less("made-up", "a", "b")(results_of(a=[1] * 9, b=[1] * 9)).verdict == "cannot be told"
    finally:
        del registered["made-up"]


def test_a_field_added_later_changes_no_hash():
    @dataclass(frozen=True)
    class Fewer:
        arm: str

    @dataclass(frozen=True)
    class More:
        arm: str
        later: int = 3

    More.__name__ = "Fewer"
    assert hashed(Fewer("a")) == hashed(More("a")) != hashed(More("a", 4))


def test_a_commit_that_is_named_comes_first(monkeypatch):
    from grokscope.experiments import frozen

    monkeypatch.setattr(frozen, "git", lambda *command: "of the checkout")
    monkeypatch.delenv(frozen.VARIABLE, raising=False)
    assert current_commit().startswith("of the checkout")
    monkeypatch.setenv(frozen.VARIABLE, "abc")
    assert current_commit() == "abc"


def test_commits(monkeypatch, tmp_path):
    from grokscope.experiments import frozen

    monkeypatch.setattr(frozen, "CHECKOUT", tmp_path)
    monkeypatch.setenv(frozen.VARIABLE, "abc")
    assert current_commit() == "abc"
    assert frozen_at("abc") is None and not is_ancestor("abc")


def test_source_that_no_commit_holds_and_several_parts_are_named():
    assert made_from({"commit": "a" * 40, "runs": 5}) == ""
    dirty = {"commit": "abcdefgh" * 5 + "+", "runs": 5}
    assert made_from(dirty) == "made from commit abcdefg with uncommitted changes of the source"
    assert provenance(dirty) == [{"commit": "abcdefgh" * 5, "uncommitted_changes": True, "runs": 5}]
    parts = {"commit": "b" * 40, "runs": 9, "earlier": [{"commit": "c" * 40 + "+", "runs": 4}]}
    assert (
        made_from(parts)
        == "made in parts: 4 runs from ccccccc with uncommitted changes of the source, 5 runs from bbbbbbb"
    )


def test_the_ledger_says_it_at_every_claim():
    claim = Claim(name="sooner", statement="It is.", rule=Sooner("a", "b"), text="It is.")
    experiment = replace(find_experiment("si-fig8"), claims=[claim], arms={"a": {}, "b": {}}, seeds_of={})
    made = results_of(a=[100] * 20, b=[200] * 20)
    for commit, said in (("a" * 40, False), ("a" * 40 + "+", True)):
        (row,) = rulings(experiment, made._replace(about={**made.about, "commit": commit}))
        assert ("uncommitted changes" in row["measured"]) is said
        assert row["made_from"][0]["uncommitted_changes"] is said
        assert any("uncommitted changes" in note for note in _notes(row)) is said
