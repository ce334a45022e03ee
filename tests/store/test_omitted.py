"""How runs that cannot be read are named."""

from __future__ import annotations

from grokscope.store import omitted_lines


def test_a_few_runs_have_a_line_each() -> None:
    lines = omitted_lines({"3f9a": "runs/3f9a/state.json: damaged (empty)", "77bc": "run 77bc: damaged (x)"})
    assert lines == [
        "run 3f9a omitted: runs/3f9a/state.json: damaged (empty); `grokscope check 3f9a` shows what is damaged, "
        "`grokscope rm 3f9a` deletes it",
        "run 77bc omitted: damaged (x); `grokscope check 77bc` shows what is damaged, `grokscope rm 77bc` deletes it",
    ]
    assert omitted_lines({}) == []


def test_many_runs_have_one_line() -> None:
    lines = omitted_lines({f"run{number}": "damaged" for number in range(1200)}, "cannot be read")
    assert lines == [
        "1,200 runs cannot be read (run0, run1, run2 and 1,197 more); the first: damaged; `grokscope check RUN` shows what is "
        "damaged, `grokscope rm RUN` deletes it"
    ]


def test_what_is_not_damaged_is_not_to_be_deleted() -> None:
    for problem in (
        "runs/3f9a/manifest.json: written by a newer grokscope (schema 9, this one reads up to 3)",
        "task: no task is called 'mine'; if it is your own, load its file with --load",
        "deleted while it was being read",
        "has no measurements yet",
    ):
        assert omitted_lines({"3f9a": problem}) == [f"run 3f9a omitted: {problem}"]
