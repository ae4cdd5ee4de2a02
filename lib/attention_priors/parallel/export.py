"""A RoPE model of this package as a `LlamaForCausalLM` of transformers: the same logits, the same tokens."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ..model import Transformer

EXPORTED = "rope"


def export(model: Transformer, longest: int = 2048) -> LlamaForCausalLM:
    """The weights of `model` in a Llama, which turns planes in the same half-split layout.

    `longest` is written into its configuration as the trained length. ValueError for another encoding than "rope".
    """
    config = model.config
    if config.encoding != EXPORTED or not config.causal:
        raise ValueError(
            f"encoding {config.encoding!r}{'' if config.causal else ' in an encoder'} is not a Llama's; export a "
            f"causal model with encoding {EXPORTED!r}"
        )
    kv_heads = config.kv_heads or config.heads
    made = LlamaForCausalLM(LlamaConfig(
        vocab_size=config.vocabulary, hidden_size=config.width, intermediate_size=config.hidden,
        num_hidden_layers=config.layers, num_attention_heads=config.heads, num_key_value_heads=kv_heads,
        rms_norm_eps=model.norm.eps, max_position_embeddings=longest, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_base},
        bos_token_id=None, eos_token_id=None, pad_token_id=None,
    ))  # fmt: skip
    state = {"model.embed_tokens": model.embedding, "model.norm": model.norm, "lm_head": model.head}
    weights = {name: part.weight for name, part in state.items()}
    for index, block in enumerate(model.blocks):
        own, at = block.attention, f"model.layers.{index}"
        key, value = own.key_value.weight.chunk(2)
        gate, up = block.gate_up.weight.chunk(2)
        weights |= {
            f"{at}.self_attn.q_proj": own.query.weight, f"{at}.self_attn.k_proj": key,
            f"{at}.self_attn.v_proj": value, f"{at}.self_attn.o_proj": own.output.weight,
            f"{at}.mlp.gate_proj": gate, f"{at}.mlp.up_proj": up, f"{at}.mlp.down_proj": block.down.weight,
            f"{at}.input_layernorm": block.attention_norm.weight,
            f"{at}.post_attention_layernorm": block.feedforward_norm.weight,
        }  # fmt: skip
    with torch.no_grad():
        made.load_state_dict({f"{name}.weight": weight.detach().clone() for name, weight in weights.items()})
    return made.to(model.head.weight).train(model.training)
