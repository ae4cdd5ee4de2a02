"""Tiny models with weights large enough that attention is far from uniform."""

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
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
}


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


def export(model: Transformer, longest: int = 2048) -> LlamaForCausalLM:
    """The weights of `model` in a Llama, which turns planes in the same half-split layout.

    `longest` is written into its configuration as the trained length.
    """
    config = model.config
    kv_heads = config.kv_heads or config.heads
    made = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=config.vocabulary,
            hidden_size=config.width,
            intermediate_size=config.hidden,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=kv_heads,
            rms_norm_eps=model.norm.eps,
            max_position_embeddings=longest,
            tie_word_embeddings=False,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope_base},
            bos_token_id=None,
            eos_token_id=None,
            pad_token_id=None,
        )
    )
    state = {"model.embed_tokens": model.embedding, "model.norm": model.norm, "lm_head": model.head}
    weights = {name: part.weight for name, part in state.items()}
    for index, block in enumerate(model.blocks):
        own, at = block.attention, f"model.layers.{index}"
        key, value = own.key_value.weight.chunk(2)
        gate, up = block.gate_up.weight.chunk(2)
        weights |= {
            f"{at}.self_attn.q_proj": own.query.weight,
            f"{at}.self_attn.k_proj": key,
            f"{at}.self_attn.v_proj": value,
            f"{at}.self_attn.o_proj": own.output.weight,
            f"{at}.mlp.gate_proj": gate,
            f"{at}.mlp.up_proj": up,
            f"{at}.mlp.down_proj": block.down.weight,
            f"{at}.input_layernorm": block.attention_norm.weight,
            f"{at}.post_attention_layernorm": block.feedforward_norm.weight,
        }
    with torch.no_grad():
        made.load_state_dict({f"{name}.weight": weight.detach().clone() for name, weight in weights.items()})
    return made.to(model.head.weight).train(model.training)
