"""Other ways to read a long text, with the interface of `condense`: a session, which is fed question and answer.

Those that choose chunks by other means are `Options.choose`; naive parallel windows (Ratner et al. 2023) are
`Options(keep=None)`; a text read as ever is `Options(window=None)`, and SnapKV's eviction (Li et al. 2024) is that with
a `budget`, for the whole cache then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from .. import evaluation
from .. import model as models
from ..attention import causal
from ..model import Attention, Cache, Transformer
from ..positions.extensions import dynamic_ntk, interpolate, yarn
from ..positions.rotary import Spectrum
from ..training.extension import extend
from .chunks import Options, chunk_size
from .ours import embed, logits, readable, through, weigh
from .read import Condensed, Reader, condense

SINKS = 4  # first tokens that StreamingLLM keeps (Xiao et al. 2024)
BLOCK = 256  # queries at once
Progress = Callable[[int, int], None]  # is told how many parts of how many are read


def last_window(
    reader: Reader, text: Tensor, question: Tensor, options: Options, progress: Progress | None = None
) -> Condensed:
    """What fits into the window beside the question: the end of the text."""
    size = chunk_size(len(text), len(question), options)
    return condense(reader, text[-size:], question, replace(options, keep=None, choose=None, overlap=0), progress)


def halves(
    reader: Reader, text: Tensor, question: Tensor, options: Options, progress: Progress | None = None
) -> Condensed:
    """The first and the last half of what fits, joined as if nothing stood between: ParallelComp's "FullKV"."""
    size = chunk_size(len(text), len(question), options)
    if len(text) > size:
        text = torch.cat([text[: size - size // 2], text[len(text) - size // 2 :]])
    return condense(reader, text, question, replace(options, keep=None, choose=None, overlap=0), progress)


class Direct:
    """A model as it is: everything that is fed stays in its cache. For encodings that no reader takes."""

    def __init__(self, model: Transformer, text: Int[Tensor, " tokens"]) -> None:
        self.model, self.text, self.cache, self.entries = model, text, Cache(), float(len(text))
        self.device = next(model.parameters()).device

    @torch.inference_mode()
    def feed(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new vocabulary"]:
        """Logits after each of some new tokens; the text goes before the first of them."""
        fed, self.text = torch.cat([self.text, tokens]).to(self.device), tokens[:0]
        return self.model(fed[None], last=len(tokens), cache=self.cache, backend=evaluation.reader(self.model))[0]


# How RoPE turns at the length that is read: functions of spectrum, length, training length and a number.
Stretching = Callable[[Spectrum, int, int, float], Spectrum]


def by_interpolation(spectrum: Spectrum, length: int, trained: int, number: float) -> Spectrum:
    """Position interpolation by `number` times length over training length, at least 1 (1 in Chen et al. 2023)."""
    return interpolate(spectrum, max(1.0, number * length / trained))


def by_ntk(spectrum: Spectrum, length: int, trained: int, number: float) -> Spectrum:
    """Dynamic NTK with α = `number` (2 in the published code)."""
    return dynamic_ntk(spectrum, number, length, trained)


def by_yarn(spectrum: Spectrum, length: int, trained: int, number: float) -> Spectrum:
    """YaRN by `number` times length over training length, at least 1 (1 in Peng et al. 2023)."""
    return yarn(spectrum, max(1.0, number * length / trained), trained)


def stretched(model: Transformer, trained: int, how: Stretching, number: float) -> Transformer:
    """A RoPE model whose planes turn as `how` says for the length that is read. `trained`: that of its training."""
    made = extend(model, f"{model.config.encoding}-pi", trained)
    for block in made.blocks:
        block.attention.rotary.stretch = partial(how, number=number)
    return made


def rectified(model: Transformer, trained: int, number: float) -> Transformer:
    """A RoPE model whose lags beyond half of the training length grow 1 / `number` as fast (Leaky ReRoPE); infinite:
    not at all (ReRoPE, Su 2023)."""
    made = extend(model, f"{model.config.encoding}-rerope", trained)
    for block in made.blocks:
        block.attention.rotary.factor = number
    return made


class Streaming:
    """StreamingLLM (Xiao et al. 2024): every token sees the first `sinks` and the latest `window` - `sinks`, itself
    included, at their places in that cache.

    Lags to recent keys are as in the text; the sinks stand right before them, so that from the window on a query is
    never further from a sink than `window` - 1. ValueError for what is not `readable`, for absolute positions, and for
    a window without room.
    """

    def __init__(self, model: Transformer, text: Int[Tensor, " tokens"], window: int, sinks: int = SINKS) -> None:
        readable(model)
        if model.absolute is not None:
            raise ValueError(
                f"encoding {model.config.encoding!r} adds positions to embeddings, which a cache that "
                "slides cannot change; read a model with relative positions"
            )
        if not 0 <= sinks < window:
            raise ValueError(f"sinks = {sinks} of a window of {window}; leave room for recent keys")
        self.model, self.window, self.sinks, self.text, self.length = model, window, sinks, text, 0
        self.device, self.entries = next(model.parameters()).device, float(min(len(text), window - 1))
        self.held: list[tuple[Tensor, Tensor]] = []  # keys, not rotated, and values; `self.at` is where they stand
        self.at = torch.arange(0, device=self.device)

    @torch.inference_mode()
    def feed(self, tokens: Int[Tensor, " new"]) -> Float[Tensor, "new vocabulary"]:
        """Logits after each of some new tokens; the text goes before the first of them."""
        fed, self.text = torch.cat([self.text, tokens]).to(self.device), tokens[:0]
        at = torch.arange(self.length, self.length + len(fed), device=self.device)
        everywhere = torch.cat([self.at, at])
        self.length += len(fed)
        stays = (everywhere < self.sinks) | (everywhere > self.length - self.window + self.sinks)
        rows = models.Rows(at, at, causal(len(at), device=self.device), None, 0, False, "reference", None)
        x = embed(self.model, fed[None], at)
        for layer, block in enumerate(self.model.blocks):
            own = block.attention
            q, k, v, _ = own.project(block.attention_norm(x), rows, layer)
            if layer < len(self.held):
                k, v = (torch.cat(pair, 2) for pair in zip(self.held[layer], (k, v), strict=True))
            mixed = [
                self._block(own, q[:, :, start : start + BLOCK], k, v, at[start : start + BLOCK], everywhere)
                for start in range(0, len(at), BLOCK)
            ]
            self.held[layer : layer + 1] = [(k[:, :, stays], v[:, :, stays])]
            x = through(block, x, torch.cat(mixed, 2))
        self.at = everywhere[stays]
        return logits(self.model, x[:, -len(tokens) :])[0]

    def _block(self, own: Attention, q: Tensor, k: Tensor, v: Tensor, at: Tensor, everywhere: Tensor) -> Tensor:
        """Σ_j p_ij v_j for some queries: the keys that they see as recent ones, and the sinks beyond these."""
        recent = self.window - self.sinks
        near = (everywhere > at[0] - recent) & (everywhere <= at[-1])
        sink = everywhere < self.sinks
        in_cache = at.clamp(max=self.window - 1)
        products, lags, seen = [], [], []
        for which, places in ((near, at), (sink, in_cache)):
            keys = everywhere[which]
            rows = models.Rows(places, keys, causal(len(at)), None, 0, False, "reference", None)
            turned, other = own.rotate(q, k[:, :, which], rows)
            products.append(turned @ other.repeat_interleave(own.heads // own.kv_heads, 1).transpose(-1, -2))
            lags.append(places[:, None] - keys)
            gap = at[:, None] - keys
            seen.append((gap >= 0) & (gap < recent) if which is near else gap >= recent)
        p = weigh(own, torch.cat(products, -1), torch.cat(lags, -1)[None], torch.cat(seen, -1)[None])
        values = torch.cat([v[:, :, near], v[:, :, sink]], 2)
        return p @ values.repeat_interleave(own.heads // own.kv_heads, 1)
