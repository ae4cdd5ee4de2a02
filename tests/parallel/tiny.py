"""Tiny models with weights large enough that attention is far from uniform."""

from __future__ import annotations

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from attention_priors.config import ModelConfig
from attention_priors.model import Transformer

VOCABULARY = 50
ENCODINGS = ("nope", "sinusoidal", "rope", "rope-bias", "alibi", "bam", "bam-ssmax", "rope-bam", "half-rope-bam", "t5")
FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM, {}),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, {}),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, {"head_dim": 8}),
    "mistral": (MistralConfig, MistralForCausalLM, {"sliding_window": None}),
}  # fmt: skip
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}  # fmt: skip


def ours(encoding: str, **sizes: int) -> Transformer:
    torch.manual_seed(0)
    sizes = {"width": 32, "layers": 3, "heads": 4, "kv_heads": 2, "hidden": 48} | sizes
    made = Transformer(ModelConfig(vocabulary=VOCABULARY, encoding=encoding, **sizes)).eval()
    for block in made.blocks:
        block.attention.query.weight.data *= 4
    return made


def theirs(family: str, **settings: object) -> PreTrainedModel:
    torch.manual_seed(0)
    config, model, more = FAMILIES[family]
    return model(config(**SIZES | more | settings)).eval()


def whole(model: torch.nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """The ordinary forward pass: logits [length, vocabulary]."""
    with torch.no_grad():
        found = model(tokens[None])
    return (found if isinstance(found, torch.Tensor) else found.logits)[0]
