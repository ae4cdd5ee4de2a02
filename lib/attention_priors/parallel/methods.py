"""Ways to read a text that is longer than the window, by name, for experiments: each opens a session on it.

Shares stand for the numbers of appendix C, which are for windows of 4,096 and 8,192 positions: half of a chunk's keys
for 2,000 of 4,096, an edge of 100 in 4,096.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from ..model import Transformer
from .baselines import (
    SINKS,
    Direct,
    Streaming,
    Stretching,
    by_interpolation,
    by_ntk,
    by_yarn,
    halves,
    last_window,
    rectified,
    stretched,
)
from .chunks import Calibration, Options, Span, chunk_size, split
from .ours import Ours
from .read import Condensed, Session, condense
from .select import at_random, lexical, overlapping

TOKENS_AT_ONCE = 8192
EDGE = 100 / 4096  # of a chunk
KEEP = 3
CODE = Calibration().threshold  # λ of the authors' code


@dataclass(frozen=True)
class Text:
    """What is read: a text, its question, the positions to keep for the answer, and where the answer stands.

    Only the oracle looks at `wanted`; only the random choice draws from `generator`.
    """

    tokens: Int[Tensor, " tokens"]
    question: Int[Tensor, " tokens"]
    reserve: int
    wanted: Span
    generator: torch.Generator


Open = Callable[[Text], Session]


@dataclass(frozen=True)
class Method:
    """`prepare(model, window)` gives what opens texts. `chunks`: it reads parallel windows. `rope`: for RoPE only."""

    label: str
    prepare: Callable[[Transformer, int], Open]
    chunks: bool = False
    rope: bool = False


def options(
    window: int | None, given: Text, share: float | None = None, threshold: float | None = None, **more: Any
) -> Options:
    """Options of a method for one text; `share` of a chunk's keys stay."""
    made = Options(window=window, reserve=given.reserve, **more)
    size = chunk_size(len(given.tokens), len(given.question), made)
    if share is not None:
        made = replace(made, budget=max(1, round(share * size)))
    if threshold is not None:
        made = replace(made, calibration=Calibration(threshold, max(1, round(EDGE * size))))
    return replace(made, at_once=max(1, TOKENS_AT_ONCE // (size + len(given.question))))


def _chunked(
    model: Transformer, window: int, choose: str | None = None, threshold: float | None = None, **settings: Any
) -> Open:
    """Some chunks, whose keys above λ = `threshold` go."""
    reader = Ours(model)

    def open_(given: Text) -> Condensed:
        how = options(window, given, threshold=threshold, **settings)
        if choose == "oracle":
            size = chunk_size(len(given.tokens), len(given.question), how)
            how = replace(how, choose=overlapping(split(len(given.tokens), size, how.overlap), given.wanted))
        elif choose is not None:
            how = replace(how, choose=lexical if choose == "lexical" else at_random(given.generator))
        return condense(reader, given.tokens, given.question, how)

    return open_


def _whole(model: Transformer, window: int) -> Open:
    """The text as one chunk."""
    reader = Ours(model)
    return lambda given: condense(reader, given.tokens, given.question, Options(window=None))


def _snapkv(model: Transformer, window: int, pool: int) -> Open:
    """The text as one chunk, of which as many keys stay as K = 3 chunks keep at half of each."""
    reader = Ours(model)

    def open_(given: Text) -> Condensed:
        budget = KEEP * options(window, given, share=0.5).budget
        return condense(reader, given.tokens, given.question, Options(window=None, budget=budget, pool=pool))

    return open_


def _cut(model: Transformer, window: int, how: Callable[..., Condensed]) -> Open:
    reader = Ours(model)
    return lambda given: how(reader, given.tokens, given.question, options(window, given))


def _turned(model: Transformer, window: int, number: float, how: Stretching | None = None) -> Open:
    """The whole text with planes that turn as `how` says; none: rectified."""
    made = stretched(model, window, how, number) if how else rectified(model, window, number)
    return lambda given: Direct(made, given.tokens)


def _streaming(model: Transformer, window: int, sinks: int) -> Open:
    return lambda given: Streaming(model, given.tokens, window, sinks)


def _rope(label: str, how: Stretching, number: float) -> Method:
    return Method(label, partial(_turned, how=how, number=number), rope=True)


_PC = {"chunks": True}
# Rivals have the number that did best in their trials (data/tuning/parallel.csv), ParallelComp its own.
METHODS: dict[str, Method] = {
    "plain": Method("as trained", _whole),
    "last-window": Method("last window", partial(_cut, how=last_window)),
    "halves": Method("first and last half", partial(_cut, how=halves)),
    "streaming": Method("StreamingLLM", partial(_streaming, sinks=SINKS)),
    "pi": _rope("position interpolation", by_interpolation, 0.25),
    "dynamic-ntk": _rope("dynamic NTK", by_ntk, 2.0),
    "yarn": _rope("YaRN", by_yarn, 1.0),
    "rerope": Method("Leaky ReRoPE", partial(_turned, number=64.0), rope=True),
    "snapkv": Method("SnapKV, whole text", partial(_snapkv, pool=31)),
    "all": Method("all chunks", partial(_chunked, keep=None), **_PC),
    "random": Method("K = 3 at random", partial(_chunked, choose="random"), **_PC),
    "lexical": Method("K = 3 by BM25", partial(_chunked, choose="lexical"), **_PC),
    "oracle": Method("oracle", partial(_chunked, choose="oracle"), **_PC),
    "k1": Method("K = 1", partial(_chunked, keep=1), **_PC),
    "k3": Method("K = 3", _chunked, **_PC),
    "k3-overlap": Method("K = 3, overlap", partial(_chunked, overlap=25), **_PC),
    "k3-half": Method("K = 3, half the keys", partial(_chunked, share=0.5), **_PC),
    "k3-half-printed": Method("K = 3, half, as printed", partial(_chunked, share=0.5, pool=1), **_PC),
    "k3-quarter": Method("K = 3, a quarter", partial(_chunked, share=0.25), **_PC),
    "k3-calibrated": Method("K = 3, calibrated", partial(_chunked, threshold=CODE), **_PC),
    "k3-half-calibrated": Method("K = 3, half, calibrated", partial(_chunked, threshold=CODE, share=0.5), **_PC),
}
