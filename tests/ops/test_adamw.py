"""AdamW of stacked runs in place, against the rule of one run."""

import pytest
import torch

from grokscope.ops.adamw import run_by_run_, stacked_
from grokscope.optim.adamw import AdamW
from grokscope.randomness import Key, stream

RUNS, WEIGHTS = 3, 77


@pytest.mark.parametrize("update", [run_by_run_, stacked_])
def test_several_steps_are_those_of_the_rule(update):
    generator = stream(0, "numbers")
    start = torch.randn(RUNS, WEIGHTS, generator=generator)
    grads = torch.randn(5, RUNS, WEIGHTS, generator=generator)
    own = {
        "weight_decay": torch.tensor([0.0, 1.0, 0.3]),
        "beta1": torch.tensor([0.9, 0.0, 0.5]),
        "beta2": torch.tensor([0.999, 0.9, 0.98]),
        "eps": torch.tensor([1e-8, 1e-3, 1e-6]),
    }
    lr, scale = torch.tensor([0.1, 0.01, 0.03]), torch.tensor([1.0, 0.5, 0.2])
    weight, mean, square = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for step, grad in enumerate(grads, start=1):
        update(weight, grad.clone(), mean, square, torch.full((RUNS,), step), lr, scale, own)
    for run in range(RUNS):
        rule = AdamW(**{name: values[run].item() for name, values in own.items()})
        expected, state = start[run], rule.init(start[run], "matrix")
        for step, grad in enumerate(grads, start=1):
            key, now = Key(torch.tensor(0), torch.tensor(step)), torch.tensor(step)
            expected, state = rule.update(
                expected, grad[run] * scale[run], state, role="matrix", step=now, lr=lr[run], key=key
            )
        torch.testing.assert_close(weight[run], expected)
        torch.testing.assert_close(mean[run], state["mean"])
        torch.testing.assert_close(square[run], state["square"])
