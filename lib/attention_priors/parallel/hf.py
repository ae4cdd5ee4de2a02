"""A reader over causal models of Hugging Face with RoPE and grouped queries: Llama, Qwen2, Qwen3, Mistral ...

It uses what transformers offers for the purpose: attention and its mask are functions registered under a name, and a
keyword of the model's call reaches the attention of every layer. Nothing of the model is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface

from .chunks import Rows
from .read import Entries, Joined, Read, everything, surprisal
from .select import KeySelection

NAME = "attention_priors_parallel"
STATE = "parallel_pass"  # keyword of the model's call
Attend = Callable[[int, Tensor, Tensor, Tensor, float], Tensor]  # layer, q, k, v, factor of the logits


@dataclass
class Pass:
    """One call of the model: how each layer attends, and how many layers have."""

    attend: Attend
    layers: int = 0


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **how: Any
) -> tuple[Tensor, None]:
    """The registered function: [batch, heads, queries, width] to [batch, queries, heads, width]."""
    if unknown := [name for name in ("softcap", "s_aux", "sliding_window") if how.get(name) is not None]:
        raise ValueError(f"the model's attention has {unknown[0]}, which chunks do not; read a model without")
    running: Pass = how[STATE]
    scaling = how.get("scaling")
    mixed = running.attend(module.layer_idx, query, key, value, query.shape[-1] ** -0.5 if scaling is None else scaling)
    running.layers += 1
    return mixed.transpose(1, 2), None


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, lambda *_, **__: None)  # what is visible is known to `Pass.attend`


class HuggingFace:
    """Reads a `PreTrainedModel`, between whose calls its own attention is untouched.

    ValueError for a model in training mode, without RoPE (learned positions, ALiBi) or with a sliding window.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config
        if model.training:
            raise ValueError("the model is in training mode; call model.eval() first")
        if not getattr(config, "rope_parameters", None):
            raise ValueError(
                f"{type(model).__name__} has no rotary positions that chunks could share; read a model with RoPE"
            )
        kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
        window = getattr(config, "sliding_window", None)
        if kinds != {"full_attention"} or (window and not hasattr(config, "layer_types")):
            raise ValueError(
                f"{type(model).__name__} has a sliding window of {window} tokens; load it with "
                "sliding_window=None, or read a model without"
            )
        if config._attn_implementation == "attention_priors_extended":
            raise ValueError(
                "the model has a window, ReRoPE or scalable softmax of integrations.extending, which chunks would "
                "leave out; call restore(model) first"
            )
        self.model, self.device = model, model.device
        self.layers = config.num_hidden_layers

    @torch.inference_mode()
    def read(self, rows: Rows, select: KeySelection | None, last: int, gathered: bool) -> Read:
        """See `Reader`."""
        length = rows.tokens.shape[1]
        column = torch.arange(length, device=self.device)
        mask = None
        if rows.padded:
            seen = (column <= column[:, None]) & (column >= torch.minimum(rows.first[:, None], column)[..., None])
            mask = seen[:, None]
        entries: list[Entries] = []

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
            if select is None:
                kept = everything(rows, k.shape[1])
            else:
                kept = select(layer, _weights(q[:, :, -last:], k, factor, mask), k.shape[1], rows)
            entries.append(Entries.of(k, v, kept, gathered))
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=mask is None, scale=factor, enable_gqa=q.shape[1] != k.shape[1]
            )

        logits = self.run(rows.tokens, column, attend, rows.question + 1)
        return Read(surprisal(logits, rows), entries)

    @torch.inference_mode()
    def attend(self, tokens: Int[Tensor, " new"], cache: Joined, position: int) -> Float[Tensor, "new vocabulary"]:
        """See `Reader`."""
        at = torch.arange(position, position + len(tokens), device=self.device)

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
            held = cache.append(layer, k, v, at)
            groups, keys = q.shape[1] // k.shape[1], held.k.shape[2]
            last = torch.arange(keys - len(at), keys, device=q.device)
            seen = held.valid[:, :, None] & (torch.arange(keys, device=q.device) <= last[:, None])
            return F.scaled_dot_product_attention(
                q, held.k, held.v, attn_mask=seen.repeat_interleave(groups, 1), scale=factor, enable_gqa=groups > 1
            )

        return self.run(tokens[None], at, attend, len(tokens))[0]

    def run(self, tokens: Tensor, positions: Tensor, attend: Attend, last: int) -> Tensor:
        """Logits [batch, last, vocabulary] of the last tokens, at given positions, through `attend` in each layer.

        ValueError for tokens that the model does not know, and where its layers did not ask us.
        """
        most = self.model.get_input_embeddings().num_embeddings
        if int(tokens.min()) < 0 or int(tokens.max()) >= most:
            raise ValueError(
                f"tokens from {int(tokens.min())} to {int(tokens.max())}, but the vocabulary is 0 to "
                f"{most - 1}; use the model's tokenizer"
            )
        running = Pass(attend)
        with _attending(self.model):
            found = self.model(
                input_ids=tokens,
                position_ids=positions[None].expand(len(tokens), -1),
                use_cache=False,
                logits_to_keep=last,
                **{STATE: running},
            )
        if running.layers != self.layers:
            raise ValueError(
                f"{type(self.model).__name__} sent {running.layers} of {self.layers} layers through the "
                "registered attention; read a model that supports AttentionInterface"
            )
        return found.logits


@contextmanager
def _attending(model: PreTrainedModel) -> Iterator[None]:
    """The registered attention in the model, and afterwards what was there."""
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _weights(q: Tensor, k: Tensor, factor: float, mask: Tensor | None) -> Float[Tensor, "rows heads last keys"]:
    """Softmax weights of the last queries, in float32."""
    keys, last = k.shape[2], q.shape[2]
    logits = q.float() @ k.float().repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(-1, -2) * factor
    column = torch.arange(keys, device=q.device)
    seen = column <= column[-last:, None] if mask is None else mask[:, :, -last:]
    return logits.masked_fill(~seen, -torch.inf).softmax(-1)
