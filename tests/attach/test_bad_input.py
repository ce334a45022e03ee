"""What cannot be watched, or was given wrongly: one line, and the model is left as it was."""

import pytest
import torch
import torch.nn.functional as F
from networks import LENGTH, MinGPT, batch, build
from torch import nn

import grokscope
from grokscope.errors import GrokscopeError
from grokscope.priors.kl import KL

MASK = torch.tensor([True, True, False, False, False])


def refused(call, *words):
    with pytest.raises(GrokscopeError) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line and len(line) < 200
    for word in words:
        assert word in line, line
    return line


def ask(what=lambda scope: scope.D, model=None, tokens=None, **how):
    """Ask something of a scope after one forward pass; the model must be unhooked afterwards."""
    model = build("sdpa").model if model is None else model

    def call():
        try:
            with grokscope.watch(model, **({"informative": MASK} | how)) as scope:
                model(batch()[0] if tokens is None else tokens)
                what(scope)
        finally:
            assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())
            assert torch.overrides._get_current_function_mode() is None

    return call


def test_masks_of_another_size():
    refused(ask(informative=torch.ones(4).bool()), "informative", "4 positions", "5")
    refused(ask(informative=torch.ones(3, LENGTH).bool()), "informative", "(3, 5)", "6")
    refused(ask(informative=torch.ones(6, 2, LENGTH).bool()), "informative", "2 queries", "1 are asked for")
    refused(ask(informative=torch.zeros(LENGTH).bool()), "informative", "no token informs query 0")
    refused(ask(informative=MASK.float()), "informative", "real numbers")
    refused(ask(informative="ab"), "informative", "string")
    refused(ask(informative=[0, 1], tokens=torch.full((6, LENGTH), 5)), "informative", "no token informs query 0")
    refused(ask(informative=None), "informative", "not given")
    refused(ask(padding="x"), "padding", "neither")


def test_a_mask_that_the_query_cannot_see():
    refused(ask(informative=torch.tensor([0, 0, 0, 1, 0]).bool(), query=1), "position 3 is hidden from query 0")


def test_queries_outside_the_sequence():
    refused(ask(query=5), "query", "5 is outside a sequence of 5 tokens")
    refused(ask(query=-6), "query", "-6")
    refused(ask(query=[0, 9]), "query", "[0, 9]")
    refused(ask(query=0.5), "query", "not a position")
    refused(ask(query=torch.zeros(LENGTH).bool()), "query", "chooses no position")
    refused(ask(query=torch.zeros(2, 1).long()), "query", "(2, 1)", "6")


@pytest.mark.parametrize("beta", [-0.1, float("nan"), float("inf"), "1", True])
def test_strengths(beta):
    refused(ask(lambda scope: scope.prior(beta)), "beta", repr(beta))


def test_priors():
    refused(ask(lambda scope: scope.prior(KL(beta=-1.0))), "beta", "below 0")
    refused(ask(lambda scope: scope.prior(1.0, on="all")), "on", "'all'")
    refused(ask(lambda scope: scope.prior(KL(beta=1.0, target="teacher", teacher="abc"))), "teacher")
    refused(ask(lambda scope: scope.prior(KL(beta=1.0, target="uniform")), query=2), "masked")
    refused(ask(lambda scope: scope.prior(KL(beta=1.0, target="adversarial")), query=2), "last position")


def test_layers_and_heads():
    refused(ask(layers=2), "layers", "2 is outside the 2 layers")
    refused(ask(layers="blocks.7"), "layers", "blocks.7", "Did you mean blocks.")
    refused(ask(layers=[]), "layers", "no layer")
    refused(ask(heads=2), "heads", "2")


def test_networks_without_attention():
    mlp = nn.Sequential(nn.Embedding(11, 4), nn.Flatten(), nn.Linear(4 * LENGTH, 11))
    refused(ask(model=mlp), "no attention was seen in Sequential", "scope.see")
    refused(ask(lambda scope: scope.prior(0.1), model=mlp), "no attention")
    refused(ask(lambda scope: scope.step(loss=1.0), model=mlp), "no attention")


def test_state_space_layers():
    class MambaMixer(nn.Linear):
        pass

    refused(
        ask(model=nn.Sequential(nn.Embedding(11, 4), MambaMixer(4, 4))), "1 is a MambaMixer", "no attention weights"
    )


def test_linear_attention_of_transformers():
    transformers = pytest.importorskip("transformers", reason="needs grokscope[hf]")
    config = transformers.MambaConfig(vocab_size=11, hidden_size=16, num_hidden_layers=1, state_size=4)
    refused(ask(model=transformers.MambaForCausalLM(config)), "Mamba", "no attention weights")


@pytest.mark.parametrize("kind", ["flash_attention_2", "flex_attention"])
def test_kernels_that_hand_out_no_weights(kind):
    network = build("gpt2-sdpa")
    network.model.config._attn_implementation_internal = kind  # setting it properly needs a GPU
    refused(lambda: grokscope.watch(network.model, informative=MASK).open(), kind, "sdpa")
    assert network.model.config._attn_implementation == kind
    assert not network.model._forward_hooks


def test_two_scopes_on_one_model():
    model = build("sdpa").model
    with grokscope.watch(model, informative=MASK) as scope:
        refused(lambda: grokscope.watch(model, informative=MASK).open(), "another scope")
        refused(lambda: grokscope.watch(model.blocks[0], informative=MASK).open(), "another scope")
        refused(scope.open, "open already")
        model(batch()[0])
        assert scope.D > 0  # the first one goes on


def test_what_is_no_model():
    refused(lambda: grokscope.watch(lambda x: x), "not an nn.Module")
    refused(lambda: grokscope.watch(nn.DataParallel(build("sdpa").model)), "DataParallel")
    refused(lambda: grokscope.watch(build("sdpa").model, every=0), "every")


def test_compiled_models():
    refused(lambda: grokscope.watch(torch.compile(MinGPT(), backend="eager")), "compiled")
    inside = MinGPT()
    inside.blocks[1].compile(backend="eager")
    refused(lambda: grokscope.watch(inside), "blocks.1 is compiled")


def test_order_of_calls():
    model = build("sdpa").model
    scope = grokscope.watch(model, informative=MASK)
    refused(lambda: scope.D, "not open")
    with scope:
        refused(lambda: scope.D, "no forward pass")
        refused(lambda: scope.prior(0.1), "no forward pass")
        refused(lambda: scope.see(torch.zeros(2, 3)), "no forward pass")
        refused(lambda: scope.report("x.html"), "no row")
        with torch.no_grad():
            model(batch()[0])
        refused(lambda: scope.prior(0.1), "without gradients")
        model(batch()[0])
        refused(lambda: scope.see(torch.zeros(2)), "see")
        refused(lambda: scope.step(loss=1.0, train_loss=1.0), "step")
        loss = model(batch()[0]).square().mean()
        scope.prior(0.1)
        refused(lambda: scope.step(loss=loss), "does not include this step's prior", "train_loss=")
        model.requires_grad_(False)
        model(batch()[0])
        refused(lambda: scope.prior(0.1), "frozen")


def test_layers_over_different_positions():
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.own, self.other = nn.Embedding(11, 8), nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, tokens):
            x = self.embed(tokens)
            x = x + F.scaled_dot_product_attention(self.own(x), x, x)
            return x + F.scaled_dot_product_attention(self.other(x), x[:, :3], x[:, :3])

    refused(ask(model=Cross()), "different shapes", "layers=")
    ask(model=Cross(), layers=0)()
