"""Branches: a run that starts from a checkpoint of another, and continues as it did unless something is changed."""

import shutil
from dataclasses import replace

import pytest
import torch

from grokscope.config import COMPONENTS, Log, Stop
from grokscope.errors import ConfigError, StoreError
from grokscope.interventions import Branch
from grokscope.interventions.both import Both
from grokscope.interventions.clamp import Clamp
from grokscope.interventions.rescale import Rescale
from grokscope.interventions.reset import Reset
from grokscope.interventions.transplant import Transplant
from grokscope.launch.local import train_all
from grokscope.models.transformer import Transformer
from grokscope.optim.sgd import SGD
from grokscope.probes import StoredRun
from grokscope.store import read_checkpoint, read_metrics
from tests.contracts.test_every_entry import config_with


def trained(config, tmp_path):
    (info,) = train_all([config], runs=tmp_path, device="cpu")
    return info


def kept(config, **changes):
    return replace(config, epochs=12, log=Log(every=3, keep=6), stop=Stop(accuracy=0.0), **changes)


def branch_of(info, config, epoch=6, **changes):
    return replace(config, branch=Branch(run=info.id, epoch=epoch), **changes)


@pytest.mark.parametrize("model", list(COMPONENTS["model"].entries()))
def test_a_branch_without_an_intervention_continues_bit_for_bit(model, tmp_path):
    config = kept(config_with("model", model))
    parent = trained(config, tmp_path)
    branch = trained(branch_of(parent, config), tmp_path)
    mine, other = (read_checkpoint(info).tensors for info in (branch, parent))
    assert mine.keys() == other.keys()
    assert all(torch.equal(mine[name], other[name]) for name in mine)
    timed = ["seconds", "seconds_per_step"]
    rows, theirs = (read_metrics(info).drop_columns(timed) for info in (branch, parent))
    assert rows.equals(theirs)


def test_it_knows_its_parent_and_needs_it_no_more(tiny, tmp_path):
    config = kept(tiny)
    parent = trained(config, tmp_path)
    short = branch_of(parent, replace(config, epochs=9))
    branch = trained(short, tmp_path)
    assert branch.manifest["parent"] == {"run": parent.id, "epoch": 6}
    shutil.rmtree(parent.path)
    longer = trained(replace(short, epochs=12), tmp_path)
    assert longer.id == branch.id
    assert longer.epoch == 12


def test_what_the_parent_had_reached_does_not_stop_a_branch(tiny, tmp_path):
    config = replace(kept(tiny), stop=Stop(accuracy=0.01, window=3))  # reached at once
    parent = trained(config, tmp_path)
    longer = replace(config, stop=Stop(accuracy=0.0))
    parent = trained(longer, tmp_path)
    branch = trained(branch_of(parent, config, stop=Stop(accuracy=0.01, window=3)), tmp_path)
    assert branch.epoch > 6
    again = trained(branch_of(parent, config, stop=Stop(accuracy=0.01, window=3)), tmp_path)
    assert again.epoch == branch.epoch


def test_a_branch_and_its_parent_have_different_ids(tiny):
    ids = {tiny.id, replace(tiny, branch=Branch(run="a")).id, replace(tiny, branch=Branch(run="a", epoch=3)).id}
    ids.add(replace(tiny, branch=Branch(run="a", epoch=3), do=Rescale()).id)
    assert len(ids) == 4


def test_a_transplant_brings_weights_and_optimizer_state_of_its_parts(tiny, tmp_path):
    config = kept(tiny)
    parent, donor = trained(config, tmp_path), trained(replace(config, seed=1), tmp_path)
    own = branch_of(parent, config, do=Transplant(run=donor.id, epoch=6, parts=("mlp",)))
    branch = trained(own, tmp_path)
    start, mine, theirs = (read_checkpoint(info, 6).tensors for info in (branch, parent, donor))
    for name in ("weight/W_in", "optim/mean/W_out"):
        assert torch.equal(start[name], theirs[name])
        assert not torch.equal(start[name], mine[name])
    for name in ("weight/W_Q", "optim/square/W_E", "step"):
        assert torch.equal(start[name], mine[name])
    half = trained(replace(own, do=replace(own.do, strength=0.5, continues="own")), tmp_path)
    start = read_checkpoint(half, 6).tensors
    torch.testing.assert_close(start["weight/W_in"], (mine["weight/W_in"] + theirs["weight/W_in"]) / 2)
    assert torch.equal(start["optim/mean/W_out"], mine["optim/mean/W_out"])


@pytest.mark.parametrize("model", [Transformer(d=8, d_mlp=16), Transformer(d=8, d_mlp=16, heads=2)])
@pytest.mark.parametrize("scope", ["query", "full"])
def test_attention_clamped_to_the_branch_stays_what_it_was(tiny, tmp_path, model, scope):
    config = kept(tiny, model=replace(model, scope=scope))
    parent = trained(config, tmp_path)
    branch = StoredRun(trained(branch_of(parent, config, do=Clamp(to="branch")), tmp_path))
    examples = branch.split.test
    before = StoredRun(parent).network(6)(examples).attention
    torch.testing.assert_close(branch.network()(examples).attention, before)
    assert not torch.allclose(StoredRun(parent).network()(examples).attention, before)
    column = branch.metrics.set_index("epoch")["entropy"]
    assert column[12] == pytest.approx(column[6], rel=1e-5)


def test_a_network_is_clamped_in_its_window_only(tiny, tmp_path):
    config = kept(tiny)
    parent = trained(config, tmp_path)
    branch = StoredRun(trained(branch_of(parent, config, do=Clamp(to="uniform", end=3)), tmp_path))
    examples = branch.split.test
    uniform = torch.full_like(branch.network(6)(examples).attention, 1 / 5)
    torch.testing.assert_close(branch.network(6)(examples).attention, uniform)
    assert not torch.allclose(branch.network(12)(examples).attention, uniform)


def test_bad_branches_are_refused_in_one_line(tiny, tmp_path):
    config = kept(tiny)
    parent = trained(config, tmp_path)
    wrong = {
        "kept no checkpoint of epoch 7, the nearest are 6 and 12": branch_of(parent, config, 7),
        "other weights": branch_of(parent, replace(config, model=Transformer(d=16, d_mlp=16))),
        "has no plateau": branch_of(parent, config, "plateau"),
        "has no t_grok": branch_of(parent, config, "t_grok"),
        "is not after the branch": branch_of(parent, config, "last"),
        "add --do reset": branch_of(parent, replace(config, optim=SGD())),
        "no run in": branch_of(parent, config, do=Transplant(run="zzz")),
        r"do\.start: 6 is not before the end of the run, 6 epochs after the branch; --set epochs=13": branch_of(
            parent, config, do=Rescale(start=6)
        ),
        r"do\.second\.start: 9 is not before the end": branch_of(
            parent, config, do=Both(first=Rescale(start=5), second=Reset(start=9))
        ),
    }
    for problem, one in wrong.items():
        with pytest.raises((ConfigError, StoreError), match=problem) as error:
            train_all([one], runs=tmp_path, device="cpu")
        assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="needs a run to branch from"):
        replace(config, do=Clamp(to="branch")).check()
    acted = trained(branch_of(parent, config, do=Rescale()), tmp_path)
    with pytest.raises(ConfigError, match="intervention of its own"):
        train_all([branch_of(acted, config)], runs=tmp_path, device="cpu")


def test_the_parent_is_shown(tiny, tmp_path, run):
    config = kept(tiny)
    parent = trained(config, tmp_path)
    branch = trained(branch_of(parent, config, epoch=6, do=Rescale()), tmp_path)
    code, out, _ = run("show", branch.id, "--runs", tmp_path)
    assert code == 0 and f"\nbranch of run {parent.id}, from epoch 6\n" in out
    code, out, _ = run("show", parent.id, "--runs", tmp_path)
    assert code == 0 and "branch of run" not in out


def test_an_empty_epoch_is_refused(tiny, tmp_path, run):
    parent = trained(kept(tiny), tmp_path)
    code, out, err = run("branch", f"{parent.id}@", "--runs", tmp_path)
    assert (code, out) == (2, "")
    assert err == f"RUN@EPOCH: '{parent.id}@' names no epoch; leave out the @ for the last one\n"


def test_another_optimizer_continues_after_a_reset(tiny, tmp_path):
    config = kept(tiny)
    parent = trained(config, tmp_path)
    branch = trained(branch_of(parent, replace(config, optim=SGD()), do=Reset()), tmp_path)
    assert branch.status == "done"
