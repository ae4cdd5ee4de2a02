"""What a reading costs, before any weight is loaded: chunks, entries, memory and FLOPs from sizes alone.

FLOPs count 2 for each weight of the layers and token, 4 for each width of a head and pair of query and key (half of a
square for causal attention), and 2 for each weight of the output at the tokens whose logits are needed. Memory is that
of weights and cache: of the K chunks that stay and of those that are read at once. Activations come on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..chunks import Options, chunk_size, split
from ..unrotated import PIECE
from .methods import Method


@dataclass(frozen=True)
class Shape:
    """The sizes of a model that its cost depends on. Weights: of the layers, of the output, of all."""

    layers: int
    heads: int
    kv_heads: int
    width: int
    inner: int
    output: int
    weights: int
    vocabulary: int

    @classmethod
    def of(cls, config: Any) -> Shape:
        """From a configuration of transformers; the model is built without memory."""
        from transformers import AutoModelForCausalLM

        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
        output = model.get_output_embeddings().weight
        table = model.get_input_embeddings().weight
        weights = sum(each.numel() for each in model.parameters())
        inner = weights - output.numel() - (0 if table is output else table.numel())
        heads = config.num_attention_heads
        width = getattr(config, "head_dim", None) or config.hidden_size // heads
        return cls(
            config.num_hidden_layers,
            heads,
            getattr(config, "num_key_value_heads", None) or heads,
            width,
            inner,
            output.numel(),
            weights,
            len(output),
        )


@dataclass(frozen=True)
class Cost:
    """Of one prompt: chunks read, tokens read with the copies of the question, entries of the cache that the question
    attends to, FLOPs of reading and of question and answer, bytes."""

    chunks: int
    read: int
    entries: int
    prefill: float
    decode: float
    bytes: float


def cost(shape: Shape, method: Method, options: Options, text: int, question: int, each: int) -> Cost:
    """Of a text of so many tokens; `each`: bytes of a number. ValueError for what `chunk_size` refuses."""
    size, bos, after = chunk_size(text, question, options), options.bos is not None, question + options.reserve
    if method.streams:  # through a cache of `options.window` positions
        rows = at_once = 1
        length, entries = bos + text + question, min(bos + text, options.window - 1)
        pairs, asked, held = (bos + text) * entries, after * entries, entries + PIECE
    else:
        chunks = 1 if method.cut else len(split(text, size))
        keep = min(options.keep or chunks, chunks) if not method.cut else 1
        rows = keep if method.chooses else chunks
        at_once, length = min(options.at_once, rows), bos + size + question
        kept = size if options.budget is None else min(size, options.budget)
        entries = bos + min(keep * kept, text)
        pairs, asked = length**2 / 2, after * (entries + after / 2)
        held = after + ((keep + at_once) * kept if options.budget is not None else keep * size + at_once * length)
    pair = 4 * shape.layers * shape.heads * shape.width
    one = 2 * shape.layers * shape.kv_heads * shape.width * each  # bytes of an entry
    return Cost(
        rows,
        rows * length,
        entries,
        rows * (2 * shape.inner * length + pair * pairs + 2 * shape.output * (question + 1)),
        2 * (shape.inner + shape.output) * after + pair * asked,
        shape.weights * each + one * held + 4 * at_once * (question + 1) * shape.vocabulary,
    )
