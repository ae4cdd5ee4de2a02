"""A reader over the models of this package: rotations, priors and scaled softmax, over keys that each head keeps apart.

Keys are kept rotated at their position in the row. Priors see the same positions, so that a key's lag is that from the
question to it in its own chunk, whichever chunk that is (theory.parallel.reused_lags).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from .. import evaluation
from .. import model as models
from ..attention import Visible, attention, causal
from ..attention.reference import weights
from ..model import Attention, Block, Transformer
from ..positions.encodings import encoding
from .chunks import Rows
from .read import Entries, Joined, Read, everything, surprisal
from .select import KeySelection


def readable(model: Transformer) -> None:
    """ValueError for an encoding of which position reuse would not be the one that was trained, for an encoder, and for
    a model in training mode."""
    row = encoding(model.config.encoding)
    blockwise = any(getattr(block.attention.rotary, "blockwise", False) for block in model.blocks)
    reasons = {
        "is read with the weights of another": row.trained_as,
        "depends on the length of the text": row.whole,
        "has windows": row.window,
        "has a forget gate": row.forgets,
        "has a bias of each pair": row.pairs,
        "holds only for near queries": blockwise,
    }
    if said := [reason for reason, there in reasons.items() if there]:
        raise ValueError(f"encoding {row.name!r} {said[0]}; read a model in chunks whose encoding does not")
    if not model.config.causal:
        raise ValueError("an encoder sees its whole text at once; read a causal model in chunks")
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() first")


class Ours:
    """Reads a `Transformer`. ValueError for what is not `readable`.

    `observe` is shown the weights [1, heads, new, entries] of every layer that attends to a joined cache.
    """

    def __init__(self, model: Transformer, observe: Callable[[int, Tensor, Joined], None] | None = None) -> None:
        readable(model)
        self.observe = observe
        self.model, self.layers = model, len(model.blocks)
        self.device = next(model.parameters()).device
        self.backend = evaluation.reader(model)

    @torch.inference_mode()
    def read(self, rows: Rows, select: KeySelection | None, last: int, gathered: bool) -> Read:
        """See `Reader`."""
        length = rows.tokens.shape[1]
        column = torch.arange(length, device=self.device)
        visible = causal(length, device=self.device)
        if rows.padded:  # a column of the padding sees itself alone, since every query has to see something
            visible = Visible(torch.minimum(rows.first[:, None], column), column.expand(len(rows.first), -1))
        # Padding has no position before the row: lags alone would be right at any, absolute embeddings at these.
        shared = models.Rows(column, column, visible, None, 0, True, self.backend, None)
        x, entries = embed(self.model, rows.tokens, column), []
        for layer, block in enumerate(self.model.blocks):
            top = layer == self.layers - 1
            here = shared.last(min(length, max(rows.question + 1, last))) if top else shared
            own = block.attention
            q, k, v, scale = own.project(block.attention_norm(x), here, layer)
            q, k = own.rotate(q, k, here)
            if select is None:
                kept = everything(rows, k.shape[1])
            else:
                asked = here.last(last)
                p = own.by_group(
                    weights,
                    q[:, :, -last:],
                    k,
                    scale=None if scale is None else scale[..., -last:],
                    rows=asked,
                    q_positions=asked.q_positions,
                    k_positions=asked.k_positions,
                )
                kept = select(layer, p, k.shape[1], rows)
            entries.append(Entries.of(k, v, kept, gathered))
            mixed = own.by_group(attention, q, k, v, scale=scale, rows=here, offset=here.offset, backend=self.backend)
            x = through(block, x[:, -len(here.q_positions) :], mixed)
        return Read(surprisal(logits(self.model, x[:, -rows.question - 1 :]), rows), entries)

    @torch.inference_mode()
    def attend(self, tokens: Int[Tensor, " new"], cache: Joined, position: int) -> Float[Tensor, "new vocabulary"]:
        """See `Reader`."""
        at = torch.arange(position, position + len(tokens), device=self.device)
        rows = models.Rows(at, at, causal(len(at), device=self.device), None, 0, False, "reference", None)
        x = embed(self.model, tokens[None], at)
        for layer, block in enumerate(self.model.blocks):
            own = block.attention
            q, k, v, _ = own.project(block.attention_norm(x), rows, layer)
            q, k = own.rotate(q, k, rows)
            held = cache.append(layer, k, v, at)
            p = _weights(own, q, held, at)
            if self.observe is not None:
                self.observe(layer, p, cache)
            x = through(block, x, p @ held.v.repeat_interleave(own.heads // own.kv_heads, 1))
        return logits(self.model, x)[0]


def embed(model: Transformer, tokens: Int[Tensor, "rows length"], at: Int[Tensor, " length"]) -> Tensor:
    """Embeddings of tokens at positions [rows, length, width]. ValueError for tokens that are none."""
    low, high, top = int(tokens.min()), int(tokens.max()), model.config.vocabulary - 1
    if low < 0 or high > top:
        raise ValueError(f"tokens from {low} to {high}, but the vocabulary is 0 to {top}; use the model's tokenizer")
    x = model.embedding(tokens)
    return x if model.absolute is None else x + model.absolute(at).to(x.dtype)


def logits(model: Transformer, x: Float[Tensor, "rows length width"]) -> Float[Tensor, "rows length vocabulary"]:
    """The end of the model."""
    return model.head(model.norm(x))


def weigh(
    own: Attention,
    products: Float[Tensor, "batch heads new keys"],
    lags: Int[Tensor, "lag_heads new keys"],
    seen: Bool[Tensor, "lag_heads new keys"],
) -> Float[Tensor, "batch heads new keys"]:
    """softmax over the keys seen of a_i <q_i, k_j> / sqrt(d) + b_i log π(lag), from the products <q_i, k_j>.

    Lags and what is seen are one for all heads, or each head's own. SSMax counts the keys that a head still has.
    """
    logits, heads = products * own.head_width**-0.5, own.heads
    lags, seen = lags.expand(heads, -1, -1), seen.expand(heads, -1, -1)
    scale = own.scale(seen.sum(-1))  # [heads, heads, new], of which the diagonal pairs a head with its own count
    scale = None if scale is None else scale.diagonal(dim1=0, dim2=1).T[..., None].to(logits)
    if scale is not None:
        logits = logits * scale
    if own.prior is not None:
        low = int(lags.min())
        table = own.prior.table(torch.arange(low, int(lags.max()) + 1, device=lags.device)).to(logits)
        bias = table.gather(1, (lags - low).flatten(1)).view(lags.shape)
        logits = logits + (bias * scale if scale is not None and own.scales_prior else bias)
    return logits.masked_fill(~seen, -torch.inf).softmax(-1)


def _weights(own: Attention, q: Tensor, held: Entries, at: Tensor) -> Tensor:
    """p_ij where each key head has its own keys, at its own positions: the last entries are the queries'."""
    k, positions, valid = (
        x.repeat_interleave(own.heads // own.kv_heads, 1) for x in (held.k, held.positions, held.valid)
    )
    column = torch.arange(k.shape[2], device=q.device)
    seen = valid[0, :, None] & (column <= column[-len(at) :, None])
    return weigh(own, q @ k.transpose(-1, -2), at[:, None] - positions[0, :, None], seen)


def through(block: Block, x: Tensor, mixed: Tensor) -> Tensor:
    """The rest of a block after its attention has mixed the values."""
    x = x + block.attention.output(mixed.transpose(1, 2).flatten(2))
    gate, up = block.gate_up(block.feedforward_norm(x)).chunk(2, dim=-1)
    return x + block.down(F.silu(gate) * up)
