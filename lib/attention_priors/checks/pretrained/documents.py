"""What a pretrained model says to claims that other notebooks decide: a second witness beside their verdicts.

The statements are those of the claims' own checks as far as notebook 20 measures what they are about; `missing` says
what it does not. They were committed before any answer of profile full was read. Seen were those of profile cpu: the
losses of four documents as it is, under interpolation, the NTK-aware base, YaRN, and a window with sinks; what eviction
costs them; keys at 1,024 and 2,048 tokens; means over heads, but no shapes of single heads and no fitted exponents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.checks.pretrained.answers import (
    EVERY,
    EVICTION,
    HALF,
    HEADS,
    KEYS,
    LOSSES,
    RECIPE,
    finding,
    finds,
    loses,
    loss,
    of_heads,
    over,
    sink_ratio,
)
from attention_priors.claims.finding import SHARE, Estimate, Finding, Frames
from attention_priors.claims.law import claim, claims

LEVEL = 0.1  # nats within which a loss stays level, as in checks/language
BROKEN = 1.0  # nat more than under the same text's window: a loss that has broken down, ours
ON_PAR = 0.1  # nats that make no difference, ours
OUTLIER = 0.05  # of the attention of a text of more than a thousand tokens on one of them, ours
FLAT = 0.25  # total variation from uniform below which a head counts as uniform, ours
MOST = 0.9  # of the keys, ParallelComp section 5.2
NEAR, MIDDLE = 16, 240  # lags below 16, and from 16 to 255, of pretrained_heads
THIRDS = ("first third", "middle third", "last third")  # of the layers, as in pretrained_eviction
FARTHEST, NAT = 512, 1.0  # a fitted prior counts where it moves logits by a nat over these lags, ours


def within_training(frames: Frames) -> str:
    """Why readers of parts say nothing of long texts where none was asked beyond the trained length."""
    frame = frames[KEYS]
    longest, trained = (int(frame.loc[frame["way"] == "parallel", column].max()) for column in ("length", "trained"))
    return f"{longest:,} tokens, the model was trained on {trained:,}" if longest <= trained else ""


def mended(text: str, more: str, less: str, bound: float = 0.0, **how: bool) -> Finding:
    """At the longest length one way to read loses more than another."""
    return finding(text, partial(loses, more=more, less=less, beyond=True), ">", bound, LOSSES, **how)


def gains(text: str, more: str, less: str = "", bound: float = 0.0) -> Finding:
    """At the longest length at which readers of parts are asked, one finds more keys than another."""
    return finding(text, partial(finds, more=more, less=less, longest=True), ">", bound, KEYS)


def of_parts(text: str, less: str = "", bound: float = 0.0) -> Finding:
    """What ParallelComp finds more, at a length beyond the trained one."""
    return replace(gains(text, "parallel", less, bound), beyond=within_training)


def middle(own: pd.DataFrame) -> pd.Series:
    """The weight of a key at lags 16 to 255, a mean over them."""
    return (1 - own["sink"] - own["near"] - own["far"]) / MIDDLE


def first_peaks(frames: Frames) -> Estimate:
    return of_heads(frames, lambda own: (own["sink"] - middle(own)).mean())


def last_peaks(frames: Frames) -> Estimate:
    return of_heads(frames, lambda own: (own["near"] / NEAR - middle(own)).mean())


def shape(own: pd.DataFrame) -> pd.Series:
    """U, mountain, uniform or none, of each head, from the weights of its first, near and middle keys."""
    ends, between = (own["sink"], own["near"] / NEAR), middle(own)
    found = pd.Series("", index=own.index)
    found[(ends[0] > between) & (ends[1] > between)] = "U"
    found[(ends[0] < between) & (ends[1] < between)] = "mountain"
    found[own["by_nothing"] < FLAT] = "uniform"
    return found


def shaped(frames: Frames, names: Collection[str]) -> Estimate:
    """The share of heads with one of these shapes."""
    return of_heads(frames, lambda own: shape(own).isin(names).mean(), SHARE)


def exist(text: str, count: Callable[[pd.DataFrame], float], **how: object) -> Finding:
    """How many there are in a document, at most. One shows that such things exist; none does not show the opposite."""

    def estimate(frames: Frames) -> Estimate:
        found = float(max((count(own) for _, own in frames[HEADS].groupby("document")), default=0))
        return replace(of_heads(frames, count), value=found, interval=lambda level: (found, math.inf))

    return finding(text, estimate, ">", 0.0, HEADS, **how)


def occurs(name: str, **how: object) -> Finding:
    text = f"Some head has the shape {name!r}: how many, at most, in a document"
    return exist(text, lambda own: (shape(own) == name).sum(), **how)


SHAPES = {
    "U": {},
    "mountain": {"beyond": "keys at lags of 256 and more, the middle of these texts, are not told apart"},
    "uniform": {"ours": True},
}


def outlying(own: pd.DataFrame) -> float:
    """In how many layers some head gives the first key more than OUTLIER."""
    return (own.groupby("layer")["sink"].max() > OUTLIER).sum()


def local(own: pd.DataFrame) -> pd.Series:
    return own["near"] > HALF


def long_tailed(own: pd.DataFrame) -> pd.Series:
    """A fitted exponent between 0 and 1 whose prior falls by a nat or more over FARTHEST lags."""
    return own["beta"].between(0, 1, inclusive="neither") & (own["alpha"] * FARTHEST ** own["beta"] > NAT)


def skipping(own: pd.DataFrame) -> pd.Series:
    """A fitted exponent below 0 whose prior is a nat or more lower at the query than far off."""
    return (own["beta"] < 0) & (own["alpha"] * (1 - FARTHEST ** own["beta"]) > NAT)


def some(text: str, which: Callable[[pd.DataFrame], pd.Series]) -> Finding:
    return finding(text, lambda frames: of_heads(frames, lambda own: which(own).mean(), SHARE), ">", 0.0, HEADS)


def costs(frames: Frames, more: tuple[str, str], less: tuple[str, str]) -> Estimate:
    """How much more is lost without the keys of one (region, layers) than of another; layers "": a mean over thirds."""
    frame = frames[EVICTION]

    def of(region: str, layers: str) -> pd.Series:
        own = frame[(frame["region"] == region) & (frame["layers"] == layers if layers else frame["layers"] != EVERY)]
        return own.groupby("document")["loss"].mean()

    return over(frame, of(*more) - of(*less))


def evicting(text: str, more: tuple[str, str], less: tuple[str, str]) -> Finding:
    return finding(text, partial(costs, more=more, less=less), ">", 0.0, EVICTION)


BREAKS = mended(
    "At the longest length RoPE as it is loses more than when it sees only lags that it was trained on (a "
    "window of T/2 and four sinks)",
    "as-is",
    "sinks",
)
OTHERS = "encodings other than RoPE, which this model does not have"
SHORTER = "lengths beyond one and a half times the training length"

CHECKS = claims(
    claim(
        "PE-NTK-E",
        loss("Within the trained length interpolation by 2 loses more than the NTK-aware base", "pi", "ntk", False),
        mended("At the longest length it does, too", "pi", "ntk"),
        recipe=RECIPE,
    ),
    claim(
        "PE-C6",
        mended(
            f"Without further training interpolation by 2 does not extrapolate: at the longest length it loses over "
            f"{LEVEL} nats more than the same text under a window of T/2 with four sinks",
            "pi",
            "sinks",
            LEVEL,
            ours=True,
        ),
        missing="interpolation with further training, SuperHOT-13B and the LoRA at 6K",
        recipe=RECIPE,
    ),
    claim(
        "PE-F8",
        mended("At the longest length RoPE as it is loses more than with the NTK-aware base by 2", "as-is", "ntk"),
        finding(
            f"Within the trained length interpolation by 2 costs more than {LEVEL} nats",
            partial(loses, more="pi", less="as-is", beyond=False),
            ">",
            LEVEL,
            LOSSES,
            ours=True,
        ),
        finding(
            f"... and the NTK-aware base by 2 at most {LEVEL}",
            partial(loses, more="ntk", less="as-is", beyond=False),
            "<=",
            LEVEL,
            LOSSES,
            ours=True,
        ),
        loss("... and by 4 more than by 2", "ntk-4", "ntk", False),
        mended("At the longest length interpolation by 2 loses more than the NTK-aware base by 2", "pi", "ntk"),
        missing=SHORTER,
        recipe=RECIPE,
    ),
    claim(
        "PE-F9",
        mended(
            "At the longest length RoPE as it is loses more than with dynamic NTK, the factor that this length asks "
            "for",
            "as-is",
            "dynamic-ntk",
        ),
        mended("... and the static NTK-aware base by 2 does, too", "ntk", "dynamic-ntk"),
        missing="dynamic linear scaling, and what dynamic schemes leave of shorter texts",
        recipe=RECIPE,
    ),
    claim(
        "PE-REROPE",
        mended("At the longest length RoPE as it is loses more than with ReRoPE", "as-is", "rerope"),
        missing="Leaky ReRoPE",
        recipe=RECIPE,
    ),
    claim("PE-C2", BREAKS, missing=OTHERS, recipe=RECIPE),
    claim("BAM-C18", BREAKS, missing=OTHERS, recipe=RECIPE),
    claim(
        "GOAT-F2a",
        mended(
            f"At the longest length RoPE as it is loses more than {BROKEN:g} nat above what it loses when it sees "
            "only lags that it was trained on",
            "as-is",
            "sinks",
            BROKEN,
            ours=True,
        ),
        missing=f"Goat and ALiBi; {SHORTER}",
        recipe=RECIPE,
    ),
    claim(
        "BAM-C7",
        BREAKS,
        gains(
            "And yet a window of T/2 with four sinks finds fewer keys at the longest length than the NTK-aware base",
            "ntk",
            "sinks",
        ),
        missing="ALiBi",
        recipe=RECIPE,
    ),
    claim(
        "BAM-C12",
        finding(
            f"Scalable softmax with RoPE's own base gains at most {ON_PAR} nats at the longest length",
            partial(loses, more="as-is", less="ssmax", beyond=True),
            "<=",
            ON_PAR,
            LOSSES,
            ours=True,
        ),
        finding(
            f"... and costs at most {ON_PAR}",
            partial(loses, more="ssmax", less="as-is", beyond=True),
            "<=",
            ON_PAR,
            LOSSES,
            ours=True,
        ),
        missing="a model that was trained with scalable softmax, and its base times 50 and 100",
        recipe=RECIPE,
    ),
    claim(
        "BAM-C13",
        mended("Scalable softmax at inference makes RoPE lose less at the longest length", "as-is", "ssmax"),
        mended("... and the NTK-aware base by 2, too", "ntk", "ntk-ssmax"),
        mended(
            "It does not suffice: with RoPE's own base it loses more than the NTK-aware base without it", "ssmax", "ntk"
        ),
        missing=OTHERS,
        recipe=RECIPE,
    ),
    claim(
        "BAM-F4",
        some("Some heads skip their neighbourhood: a fitted exponent below 0, a nat or more", skipping),
        some("Some have a long tail: a fitted exponent between 0 and 1, a nat or more", long_tailed),
        some("Some are local: more than half of their attention on the nearest 16 keys", local),
        missing="heads that look at the key of a prompt, and priors that were trained",
        recipe=RECIPE,
    ),
    claim(
        "GOAT-CSINK",
        finding(
            "Heads with more than half of their attention on the first key form this sink by a key of larger norm "
            "than the text's median",
            lambda frames: of_heads(frames, sink_ratio),
            ">",
            1.0,
            HEADS,
        ),
        missing="Goat's u(j)",
        recipe=RECIPE,
    ),
    claim(
        "PC-C18",
        finding(
            "Ordinary attention has a peak at the beginning: the first key has more than one at lags 16 to 255 "
            "(mean over heads)",
            first_peaks,
            ">",
            0.0,
            HEADS,
        ),
        finding("... and at the end: so has one of the nearest 16", last_peaks, ">", 0.0, HEADS),
        missing="parallel attention, and sinks as the trouble of NTK",
        recipe=RECIPE,
    ),
    claim(
        "PC-CQ1",
        finding("Most heads have one of the three shapes", partial(shaped, names=SHAPES), ">", HALF, HEADS, ours=True),
        *(occurs(name, **how) for name, how in SHAPES.items()),
        missing="waves, and the three biases",
        recipe=RECIPE,
    ),
    claim("PC-F3", *(occurs(name, **how) for name, how in SHAPES.items()), recipe=RECIPE),
    claim(
        "PC-F6",
        exist(
            f"In some layers a head gives the first key more than {OUTLIER:g} of its attention: how many, at most",
            outlying,
            ours=True,
        ),
        missing="outliers other than the first key",
        recipe=RECIPE,
    ),
    claim(
        "PC-TAB3",
        mended("At the longest length RoPE as it is loses more than with interpolation by 2", "as-is", "pi"),
        mended("... and than with the NTK-aware base by 2", "as-is", "ntk"),
        loss("Within the trained length the NTK-aware base by 2 loses more than RoPE as it is", "ntk", "as-is", False),
        missing="methods that read chunks",
        recipe=RECIPE,
    ),
    claim(
        "PC-TAB8",
        *(
            evicting(
                f"Without the nearest four keys in the {third} of the layers more is lost than without the first "
                "four there",
                ("nearest keys", third),
                ("first keys", third),
            )
            for third in THIRDS
        ),
        evicting(
            "The price of the nearest falls with depth, from the first third to the middle one",
            ("nearest keys", THIRDS[0]),
            ("nearest keys", THIRDS[1]),
        ),
        evicting("... and from there to the last", ("nearest keys", THIRDS[1]), ("nearest keys", THIRDS[2])),
        evicting(
            "Without all keys between less is lost than without the nearest (a mean over the thirds)",
            ("nearest keys", ""),
            ("all between", ""),
        ),
        missing="scores of tasks: what is measured is the loss on text",
        recipe=RECIPE,
    ),
    claim(
        "PC-C5",
        *(
            of_parts(
                f"At the longest length ParallelComp, which reads chunks, finds more keys than {name}, which alters "
                "positions",
                way,
            )
            for way, name in (("ntk", "the NTK-aware base"), ("yarn", "YaRN"))
        ),
        missing="InfLLM, ChunkLlama, and tasks other than passkeys",
        recipe=RECIPE,
    ),
    claim(
        "PC-C7",
        of_parts(f"ParallelComp finds more than {MOST:.0%} of the passkeys at the longest length", bound=MOST),
        missing="numbers, key-value pairs, and the models beside it",
        recipe=RECIPE,
    ),
    claim(
        "PC-C15",
        of_parts(
            "At the longest length ParallelComp, which keeps three chunks, finds more keys than the one chunk that "
            "BM25 retrieves",
            "lexical",
        ),
        missing="ChatQA-2, LongBench, InfiniteBench's lengths, and questions that do not repeat the needle's words "
        "(those that do are easy for BM25)",
        recipe=RECIPE,
    ),
    claim(
        "PC-TAB2",
        of_parts(
            "At the longest length ParallelComp finds more keys than the text's end alone, to which FullKV truncates",
            "last",
        ),
        missing="five of the six tasks, and compression and calibration",
        recipe=RECIPE,
    ),
)
