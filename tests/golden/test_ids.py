"""Golden ids: runs that are stored today are found tomorrow.

If the change of ids is meant, raise SCHEMA in config/run.py and write them anew in the same commit:

PYTHONPATH=src python tests/golden/test_ids.py
"""

import dataclasses
import json
from pathlib import Path

import pytest

from grokscope.config import Log, RunConfig, Stop
from grokscope.models.mlp import MLP
from grokscope.models.transformer import Transformer
from grokscope.optim.adamw import AdamW
from grokscope.optim.filters import GrokfastEMA
from grokscope.optim.muon import Muon
from grokscope.optim.sgd import SGD
from grokscope.priors import Constraints
from grokscope.priors.kl import KL
from grokscope.tasks.modular import Modular
from grokscope.tasks.parity import Parity
from grokscope.tasks.polynomial import Polynomial
from grokscope.tickets.initial import Random
from grokscope.tickets.trained import Magnitude

FILE = Path(__file__).with_name("ids.json")
CONFIGS = {
    "default": RunConfig(),
    "another seed": RunConfig(seed=1),
    "seeds apart, exact": RunConfig(seed=1, data_seed=2, init_seed=3, order_seed=4, exact=True),
    "watched and stopped otherwise": RunConfig(epochs=77, log=Log(every=3, keep=9), stop=Stop(accuracy=0.0)),
    "cosine": RunConfig(optim=AdamW(schedule="cosine"), epochs=500),
    "muon and adversary": RunConfig(optim=Muon(lr=0.02), prior=KL(beta=0.3, target="adversarial", schedule="pulse")),
    "parity, two layers": RunConfig(task=Parity(n=12, k=3), model=Transformer(layers=2, scope="causal", heads=4)),
    "vectors": RunConfig(task=Polynomial(), model=MLP(), loss="mse", optim=SGD(), prior=KL(), batch_size=8),
    "ticket": RunConfig(ticket=Magnitude(run="3f9a", epoch="t_grok", rate=0.5), precision="bf16"),
    "filter and constraint": RunConfig(
        task=Modular(p=97, op="/", positions=(0, 2)),
        filter=GrokfastEMA(),
        constraint=Constraints(norm=3.0),
        ticket=Random(rate=0.3),
    ),
}


def later_settings(settings=RunConfig, path=""):
    """Settings that were added later, with their defaults, by dotted name; components by the names of their kinds."""
    found = {}
    defaults = settings().to_dict()
    for f in dataclasses.fields(settings):
        where = f"{path}{f.name}"
        if f.metadata.get("since", 1) > 1:
            found[where] = defaults[f.name]
        held = settings.component_fields().get(f.name)
        if held is None:
            continue
        kinds = held.registry.entries() if held.registry else {"": held.default}
        for kind, cls in kinds.items():
            if cls.__module__.startswith("grokscope."):
                found |= later_settings(cls, f"{where}.{kind}." if kind else f"{where}.")
    return found


@pytest.fixture(scope="module")
def golden():
    return json.loads(FILE.read_text())


def test_ids_are_reproduced(golden):
    ids = {name: config.id for name, config in CONFIGS.items()}
    changed = [name for name in CONFIGS if ids[name] != golden["ids"][name]]
    assert not changed, (
        f"the ids of {changed} changed: every such run that is stored would be trained again. A setting that is new needs "
        "`since`, see CONTRIBUTING.md; for a change that is meant, see the head of this file"
    )
    assert len(set(ids.values()) - {ids["default"]}) == len(CONFIGS) - 2, "other numbers, other ids"
    assert ids["watched and stopped otherwise"] == ids["default"]


def test_defaults_of_settings_that_were_added_later_never_change(golden):
    later = json.loads(json.dumps(later_settings()))
    known = golden["defaults of later settings"]
    new = [name for name in later if name not in known]
    assert not new, f"{new} are new: note their defaults with PYTHONPATH=src python tests/golden/test_ids.py"
    changed = [name for name in later if later[name] != known[name]]
    assert not changed, (
        f"the defaults of {changed} changed. They stay out of ids, so runs with the old default would be taken for runs with "
        "the new one: raise SCHEMA in config/run.py, or add another setting"
    )


if __name__ == "__main__":
    ids = {name: config.id for name, config in CONFIGS.items()}
    FILE.write_text(json.dumps({"ids": ids, "defaults of later settings": later_settings()}, indent=1) + "\n")
