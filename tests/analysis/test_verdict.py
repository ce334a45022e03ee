"""The verdict must say what was seen, above all when it is not what was expected."""

from __future__ import annotations

import pandas as pd
import pytest

from grokscope.analysis import Criterion, Run, Verdict, runs_of, verdict_in_words


def arm(
    t_mem: list[int | None], t_grok: list[int | None], accuracy: float = 1.0, epoch: int = 1200, status: str = "done"
) -> list[Run]:
    return [
        Run(seed=seed, t_mem=mem, t_grok=grok, epoch=epoch, test_accuracy=accuracy, status=status)
        for seed, (mem, grok) in enumerate(zip(t_mem, t_grok, strict=True))
    ]


NO_PRIOR = arm([75, 75, 100], [800, 750, 850])
ORACLE = arm([50, 50, 75], [200, 200, 300])
ADVERSARIAL = arm([400, 375, 450], [None, None, None], accuracy=0.03)


def verdict(
    no_prior: list[Run] = NO_PRIOR, oracle: list[Run] = ORACLE, adversarial: list[Run] = ADVERSARIAL
) -> Verdict:
    return verdict_in_words(no_prior, oracle, adversarial)


def test_the_expected_story() -> None:
    seen = verdict()
    assert seen.sentences == (
        (
            "Without a prior test accuracy passed 99 % at epoch 800 (750–850, 3 of 3 seeds), "
            "725 epochs after memorisation."
        ),
        (
            "Told where to look test accuracy passed 99 % at epoch 200 (200–300, 3 of 3 seeds), "
            "4.0× sooner than without a prior."
        ),
        "Misled it memorised (epoch 400) but never generalised by epoch 1200 (0 of 3 seeds; test accuracy 3 %).",
    )
    assert seen.text == " ".join(seen.sentences)
    assert seen.claims == {"delayed": True, "oracle_sooner": True, "adversarial_never": True}
    assert seen.holds


def test_the_oracle_is_slower() -> None:
    seen = verdict(oracle=arm([50, 50, 75], [1000, 1000, 1100]))
    assert seen.sentences[1].endswith("at epoch 1000 (1000–1100, 3 of 3 seeds), 1.2× later than without a prior.")
    assert not seen.claims["oracle_sooner"]
    assert not seen.holds


def test_the_oracle_is_as_slow() -> None:
    seen = verdict(oracle=NO_PRIOR)
    assert seen.sentences[1].endswith(", as late as without a prior.")
    assert not seen.claims["oracle_sooner"]


def test_a_small_gain_is_not_rounded_away() -> None:
    seen = verdict(oracle=arm([50, 50, 75], [780, 740, 830]))
    assert seen.sentences[1].endswith("1.03× sooner than without a prior.")
    assert seen.claims["oracle_sooner"]


def test_the_oracle_is_sooner_by_the_median_but_not_in_every_seed() -> None:
    seen = verdict(oracle=arm([50, 50, 75], [200, 900, 300]))
    assert seen.sentences[1].endswith(
        "at epoch 300 (200–900, 3 of 3 seeds), 2.7× sooner than without a prior, though in only 2 of 3 seeds."
    )
    assert not seen.claims["oracle_sooner"]


def test_the_oracle_never_generalises() -> None:
    seen = verdict(oracle=arm([50, 50, 75], [None] * 3, accuracy=0.4))
    assert seen.sentences[1] == (
        "Told where to look it never generalised by epoch 1200 (0 of 3 seeds; test accuracy 40 %)."
    )
    assert not seen.claims["oracle_sooner"]


def test_one_oracle_seed_never_generalises() -> None:
    seen = verdict(oracle=arm([50, 50, 75], [200, None, 300]))
    assert "at epoch 300 (200–300, 2 of 3 seeds; not by epoch 1200 in the rest)" in seen.sentences[1]
    assert not seen.claims["oracle_sooner"]


def test_no_prior_never_generalises() -> None:
    seen = verdict(no_prior=arm([75, 75, 100], [None] * 3, accuracy=0.5))
    assert seen.sentences[0] == (
        "Without a prior it never generalised by epoch 1200 (0 of 3 seeds; test accuracy 50 %), "
        "though it memorised at epoch 75."
    )
    assert seen.sentences[1].endswith("at least 6.0× sooner than without a prior.")
    assert seen.claims == {"delayed": False, "oracle_sooner": True, "adversarial_never": True}


def test_no_prior_does_not_even_memorise() -> None:
    seen = verdict(no_prior=arm([None] * 3, [None] * 3, accuracy=0.02))
    assert seen.sentences[0].endswith("(0 of 3 seeds; test accuracy 2 %), nor did it memorise.")


def test_no_prior_generalises_in_a_minority_of_seeds() -> None:
    seen = verdict(no_prior=arm([75, 75, 100], [None, 900, None]))
    assert seen.sentences[0] == (
        "Without a prior test accuracy passed 99 % in only 1 of 3 seeds (epoch 900; not by epoch 1200 in the rest), "
        "825 epochs after memorisation."
    )
    assert not seen.claims["delayed"]


def test_no_prior_generalises_at_once() -> None:
    seen = verdict(no_prior=arm([75, 75, 100], [75, 75, 100]))
    assert seen.sentences[0].endswith(", no later than memorisation.")
    assert not seen.claims["delayed"]


def test_a_short_delay_is_none() -> None:
    assert not verdict(no_prior=arm([75, 75, 500], [800, 750, 850])).claims["delayed"]
    assert verdict(no_prior=arm([75, 75, 425], [800, 750, 850])).claims["delayed"]


def test_generalised_though_train_accuracy_stayed_below() -> None:
    seen = verdict(no_prior=arm([None] * 3, [800, 750, 850]))
    assert seen.sentences[0].endswith("at epoch 800 (750–850, 3 of 3 seeds).")
    assert not seen.claims["delayed"]


def test_both_were_stopped_too_early_to_compare() -> None:
    seen = verdict(no_prior=arm([75] * 3, [None] * 3, epoch=150), oracle=arm([50] * 3, [200] * 3))
    assert "later than the runs without a prior were followed" in seen.sentences[1]
    assert not seen.claims["oracle_sooner"]


def test_the_adversarial_prior_does_not_hinder() -> None:
    seen = verdict(adversarial=arm([400, 375, 450], [1000, 1100, 1150]))
    assert seen.sentences[2] == (
        "Misled it generalised all the same: test accuracy passed 99 % at epoch 1100 (1000–1150, 3 of 3 seeds), "
        "1.4× later than without a prior."
    )
    assert not seen.claims["adversarial_never"]


def test_one_misled_seed_generalises() -> None:
    seen = verdict(adversarial=arm([400, 375, 450], [None, 1000, None]))
    assert "all the same: test accuracy passed 99 % in only 1 of 3 seeds (epoch 1000; " in seen.sentences[2]
    assert not seen.claims["adversarial_never"]


def test_the_misled_arm_memorises_in_some_seeds_or_none() -> None:
    some = verdict(adversarial=arm([400, None, 450], [None] * 3, accuracy=0.03))
    assert some.sentences[2].startswith("Misled it memorised in 2 of 3 seeds (epoch 425) but never generalised")
    assert not some.claims["adversarial_never"]
    none = verdict(adversarial=arm([None] * 3, [None] * 3, accuracy=0.03))
    assert none.sentences[2].startswith("Misled it did not even memorise, and never generalised by epoch 1200")
    assert not none.claims["adversarial_never"]


def test_never_is_no_claim_when_the_run_was_cut_short() -> None:
    assert not verdict(adversarial=arm([400] * 3, [None] * 3, epoch=600)).claims["adversarial_never"]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("stopped", ", 2 stopped"),
        ("running", ", 2 still running"),
        ("diverged", ", 2 diverged"),
        ("grokked", ", 2 ended by the stop rule"),
    ],
)
def test_never_is_not_said_of_runs_that_were_not_trained_to_their_last_epoch(status: str, words: str) -> None:
    runs = arm([400] * 2, [None] * 2, accuracy=0.03, status=status)
    seen = verdict(no_prior=runs, adversarial=runs)
    assert "never" not in seen.text
    assert f"it had not generalised by epoch 1200 (0 of 2 seeds{words}; test accuracy 3 %)" in seen.sentences[0]
    assert f"but had not generalised by epoch 1200 (0 of 2 seeds{words}; test accuracy 3 %)" in seen.sentences[2]
    assert not seen.claims["adversarial_never"]
    some = verdict(oracle=[*arm([50], [200]), *arm([50], [None], status=status)])
    assert f"not by epoch 1200 in the rest{words.replace('2', '1')})" in some.sentences[1]


def test_the_threshold_is_that_of_the_criterion() -> None:
    seen = verdict_in_words(NO_PRIOR, ORACLE, ADVERSARIAL, criterion=Criterion(threshold=0.95))
    assert "test accuracy passed 95 % at epoch 800" in seen.text and "99 %" not in seen.text


def test_almost_there_does_not_read_as_there() -> None:
    seen = verdict(adversarial=arm([400], [None], accuracy=0.9896))
    assert seen.sentences[2].endswith("never generalised by epoch 1200 (0 of 1 seed; test accuracy 98.9 %).")


def test_accuracy_of_a_diverged_run_is_left_out() -> None:
    seen = verdict(adversarial=arm([400], [None], accuracy=float("nan")))
    assert seen.sentences[2].endswith("never generalised by epoch 1200 (0 of 1 seed).")


def test_an_empty_arm_is_refused() -> None:
    with pytest.raises(ValueError, match="each arm"):
        verdict(oracle=[])


def test_runs_from_a_table() -> None:
    table = pd.DataFrame(
        {
            "seed": [0, 1],
            "t_mem": [75, 80],
            "t_grok": [800, None],
            "epoch": [900, 1200],
            "test_accuracy": [1.0, 0.25],
            "status": ["grokked", "stopped"],
        }
    )
    assert runs_of(table) == [
        Run(seed=0, t_mem=75, t_grok=800, epoch=900, test_accuracy=1.0, status="grokked"),
        Run(seed=1, t_mem=80, t_grok=None, epoch=1200, test_accuracy=0.25, status="stopped"),
    ]
    assert runs_of(table.astype({"t_grok": "Int64"})) == runs_of(table)
