"""Why si-fig10 has no positive control: with attention frozen at the oracle, one head cannot tell (a, b) from (b, a). Two heads of
si-fig10-permutations with one operand each can."""

import torch

from grokscope.experiments.base import find_experiment
from grokscope.ops.lookup import plan


def logits(config, tokens, attention):
    shape = config.task.shape
    weights = config.model.init(shape, torch.Generator().manual_seed(0))
    read = plan(tokens, shape.vocabulary, shape.length)
    return config.model.forward(weights, read, frozen=attention.expand(len(tokens), config.model.heads, -1)).logits


def test_the_frozen_oracle_gives_both_orders_of_two_permutations_the_same_answer():
    experiment = find_experiment("si-fig10")
    configs = {arm: config for arm, config in experiment.configs("full") if arm.endswith("frozen oracle")}
    assert configs
    for config in configs.values():
        assert config.model.heads == config.model.layers == 1
        train = config.task.split(config.seed_for("data")).train
        informative, tokens = train.marked[0], train.inputs[:32]
        swapped = tokens.clone()
        swapped[:, informative] = tokens[:, informative].flip(1)
        assert not torch.equal(swapped, tokens)
        oracle = informative.float() / informative.sum()
        assert torch.allclose(logits(config, tokens, oracle), logits(config, swapped, oracle), atol=1e-5)
        uneven = oracle.clone()
        uneven[informative] = torch.tensor([0.7, 0.3])  # any other attention tells them apart
        assert not torch.allclose(logits(config, tokens, uneven), logits(config, swapped, uneven), atol=1e-3)


def test_both_orders_differ_for_most_pairs():
    task = find_experiment("si-fig10").configs("full")
    (config,) = [own for arm, own in task if arm == "q = 16, S3, frozen oracle" and own.seed == 0]
    n = config.task.symbols
    rows = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    assert (config.task.label(rows) != config.task.label(rows.flip(1))).float().mean() >= 0.5


def test_two_heads_with_one_operand_each_tell_the_orders_apart():
    experiment = find_experiment("si-fig10-permutations")
    configs = {arm: config for arm, config in experiment.configs("full") if arm.endswith("one operand per head")}
    assert configs
    for config in configs.values():
        train = config.task.split(config.seed_for("data")).train.part(0, 16)
        attention = config.constraint.frozen_attention(train)
        assert attention.shape == (16, 2, config.task.shape.length)
        read = (attention * train.inputs.unsqueeze(1)).sum(-1)
        assert torch.equal(read.long(), train.inputs[train.marked].view(16, 2))  # the operands, in their order
        swapped = train.inputs.clone()
        swapped[:, train.marked[0]] = swapped[:, train.marked[0]].flip(1)
        other = (train.inputs != swapped).any(-1)  # σ∘σ is the same in both orders
        one, two = (logits(config, tokens[other], attention[other]) for tokens in (train.inputs, swapped))
        assert not torch.isclose(one, two, atol=1e-3).all(-1).any()
