"""One small network per adapter, with random weights: what the contract tests run over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

SYMBOLS, LENGTH, D, HEADS = 11, 5, 16, 2


class Attention(nn.Module):
    """As in minGPT."""

    def __init__(self, d, heads, dropout=0.0):
        super().__init__()
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n_head, self.dropout = heads, dropout

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        return self.proj(y.transpose(1, 2).flatten(2))


class ByHand(Attention):
    """The same, step by step; shows its logits if it has a scope."""

    scope = None

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
        if self.scope is not None:
            scores = self.scope.see(scores, scale=q.shape[-1] ** -0.5)
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, d, heads, dropout, attention):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(d), attention(d, heads, dropout)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


class MinGPT(nn.Module):
    def __init__(self, layers=2, dropout=0.0, attention=Attention, checkpoint=False):
        super().__init__()
        self.embed, self.places = nn.Embedding(SYMBOLS, D), nn.Parameter(torch.randn(LENGTH, D))
        self.blocks = nn.ModuleList(Block(D, HEADS, dropout, attention) for _ in range(layers))
        self.head, self.checkpoint = nn.Linear(D, SYMBOLS), checkpoint

    def forward(self, tokens):
        x = self.embed(tokens) + self.places
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        return self.head(x)


class Encoder(nn.Module):
    """`nn.TransformerEncoder` with a causal mask."""

    def __init__(self, layers=2, dropout=0.0):
        super().__init__()
        self.embed, self.places = nn.Embedding(SYMBOLS, D), nn.Parameter(torch.randn(LENGTH, D))
        layer = nn.TransformerEncoderLayer(D, HEADS, 4 * D, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(D, SYMBOLS)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.encoder(self.embed(tokens) + self.places, mask=mask))


class Weights(nn.Module):
    """`nn.MultiheadAttention` that is asked for its weights, and has its batch second."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.embed, self.places = nn.Embedding(SYMBOLS, D), nn.Parameter(torch.randn(LENGTH, D))
        self.attend = nn.MultiheadAttention(D, HEADS, dropout)
        self.head = nn.Linear(D, SYMBOLS)

    def forward(self, tokens):
        x = (self.embed(tokens) + self.places).transpose(0, 1)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], dtype=x.dtype)
        y, self.returned = self.attend(x, x, x, attn_mask=mask)
        return self.head((x + y).transpose(0, 1))


@dataclass
class Network:
    """A model and how to call it for logits [batch position symbol]."""

    model: nn.Module
    layers: int
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self, tokens):
        if self.kwargs:
            return self.model(input_ids=tokens, **self.kwargs).logits
        return self.model(tokens)


def gpt2(kind, dropout=0.0):
    transformers = pytest.importorskip("transformers", reason="needs grokscope[hf]")
    config = transformers.GPT2Config(
        vocab_size=SYMBOLS,
        n_positions=8,
        n_embd=D,
        n_layer=2,
        n_head=HEADS,
        attn_pdrop=dropout,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(config)
    model.set_attn_implementation(kind)
    return Network(model, 2, {"use_cache": False})


def llama(kind, dropout=0.0):
    """Grouped queries: two heads share one key."""
    transformers = pytest.importorskip("transformers", reason="needs grokscope[hf]")
    config = transformers.LlamaConfig(
        vocab_size=SYMBOLS,
        hidden_size=D,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        num_key_value_heads=1,
        max_position_embeddings=8,
        attention_dropout=dropout,
    )
    model = transformers.LlamaForCausalLM(config)
    model.set_attn_implementation(kind)
    return Network(model, 2, {"use_cache": False})


def lens(dropout=0.0):
    bridge = pytest.importorskip("transformer_lens.model_bridge", reason="needs grokscope[lens]")
    from transformer_lens.config import TransformerBridgeConfig

    config = TransformerBridgeConfig(
        d_model=D, d_head=D // HEADS, n_heads=HEADS, n_layers=2, n_ctx=8, d_vocab=SYMBOLS, act_fn="relu", d_mlp=32
    )
    return Network(bridge.TransformerBridge.boot_native(config), 2)


NETWORKS = {
    "sdpa": lambda dropout=0.0: Network(MinGPT(dropout=dropout), 2),
    "encoder": lambda dropout=0.0: Network(Encoder(dropout=dropout), 2),
    "multihead-weights": lambda dropout=0.0: Network(Weights(dropout=dropout), 1),
    "gpt2-sdpa": lambda dropout=0.0: gpt2("sdpa", dropout),
    "gpt2-eager": lambda dropout=0.0: gpt2("eager", dropout),
    "llama-sdpa": lambda dropout=0.0: llama("sdpa", dropout),
    "llama-eager": lambda dropout=0.0: llama("eager", dropout),
    "lens": lens,
}


def build(name, dropout=0.0):
    torch.manual_seed(3)
    return NETWORKS[name](dropout=dropout)


def batch(size=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(SYMBOLS, (size, LENGTH), generator=generator)
    return tokens, torch.randint(SYMBOLS, (size,), generator=generator)
