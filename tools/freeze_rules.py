"""Write results/rules.json: the hash of every claim's rule. It is committed before the runs that the rules judge.

python -m tools.freeze_rules
"""

from __future__ import annotations

import json
from pathlib import Path

from grokscope.experiments import all_experiments
from grokscope.experiments.frozen import LIST, rule_hashes

RESULTS = Path(__file__).parents[1] / "results"


def every_hash() -> dict[str, str]:
    """By `experiment/claim`."""
    return {
        f"{name}/{claim}": own
        for name, experiment in all_experiments().items()
        for claim, own in rule_hashes(experiment).items()
    }


def main() -> None:
    text = json.dumps(every_hash(), indent=1, sort_keys=True) + "\n"
    (RESULTS / LIST).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
