"""What a pretrained model says to claims that other notebooks decide: a second witness beside their verdicts.

The statements are those of the claims' own checks as far as notebook 20 measures what they are about; `missing` says
what it does not. They were committed before any answer of profile full was read. Seen were those of profile cpu: the
losses of four documents as it is, under interpolation, the NTK-aware base, YaRN, and a window with sinks; what eviction
costs them; keys at 1,024 and 2,048 tokens; means over heads, but no shapes of single heads and no fitted exponents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.checks.pretrained.answers import (
    EVERY,
    EVICTION,
    HALF,
    HEADS,
    KEYS,
    RECIPE,
    SINK_BY_NORM,
    beyond,
    heads,
    keys,
    of_heads,
    over,
    right,
    within,
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
OTHER_KEYS = "the paper evicts keys of high scores, and reads scores of tasks; here the keys of a place, and losses"
ABOUT = 0.5  # of an exponent: within it one is near 1, ours
FARTHEST, NAT = 512, 1.0  # a fitted prior counts where it moves logits by a nat over these lags, ours


def within_training(frames: Frames) -> str:
    """Why readers of parts say nothing of long texts where none was asked beyond the trained length."""
    frame = frames[KEYS]
    longest, trained = (int(frame.loc[frame["way"] == "parallel", column].max()) for column in ("length", "trained"))
    return f"{longest:,} tokens, the model was trained on {trained:,}" if longest <= trained else ""


def out_of_reach(frames: Frames) -> str:
    """Why a share of the keys says nothing where the model does not find it with the right chunk alone."""
    answers = right(frames[KEYS], "oracle", longest=True)
    short = f"with the right chunk alone the model finds {answers.sum()} of {len(answers)}"
    return within_training(frames) or (short if answers.mean() <= MOST else "")


def of_parts(text: str, less: str = "", *bound: object, lacking: object = within_training) -> Finding:
    """What ParallelComp finds more, at a length beyond the trained one."""
    return keys(text, "parallel", less, *bound, longest=True, beyond=lacking)


def middle(own: pd.DataFrame) -> pd.Series:
    """The weight of a key at lags 16 to 255, a mean over them."""
    return (1 - own["sink"] - own["near"] - own["far"]) / MIDDLE


def shape(own: pd.DataFrame) -> pd.Series:
    """U, mountain, uniform or none, of each head, from the weights of its first, near and middle keys."""
    ends, between = (own["sink"], own["near"] / NEAR), middle(own)
    found = pd.Series("", index=own.index)
    found[(ends[0] > between) & (ends[1] > between)] = "U"
    found[(ends[0] < between) & (ends[1] < between)] = "mountain"
    found[own["by_nothing"] < FLAT] = "uniform"
    return found


def exist(text: str, count: Callable[[pd.DataFrame], float], **how: object) -> Finding:
    """How many there are in a document, at most. One shows that such things exist; none does not show the opposite."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        found = float(max((count(own) for _, own in frame.groupby("document")), default=0))
        return replace(of_heads(frame, count), value=found, interval=lambda level: (found, math.inf))

    return measuring(HEADS)(text, estimate, **how)


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
    """More than half of the attention on the nearest keys, and a fitted exponent near ALiBi's 1."""
    return (own["near"] > HALF) & ((own["beta"] - 1).abs() <= ABOUT)


def long_tailed(own: pd.DataFrame) -> pd.Series:
    """A fitted exponent between 0 and 1 whose prior falls by a nat or more over FARTHEST lags."""
    return own["beta"].between(0, 1, inclusive="neither") & (own["alpha"] * FARTHEST ** own["beta"] > NAT)


def skipping(own: pd.DataFrame) -> pd.Series:
    """A fitted exponent below 0 whose prior is a nat or more lower at the query than far off.

    Not in a head that rests on the first key: its other weights are too small for a shape.
    """
    return (own["beta"] < 0) & (own["alpha"] * (1 - FARTHEST ** own["beta"]) > NAT) & (own["sink"] <= HALF)


def some(text: str, which: Callable[[pd.DataFrame], pd.Series]) -> Finding:
    return heads(text, lambda own: which(own).mean(), within=SHARE)


def evicting(text: str, more: tuple[str, str], less: tuple[str, str]) -> Finding:
    """How much more is lost without the keys of one (region, layers) than of another; layers "": a mean over thirds."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        def of(region: str, layers: str) -> pd.Series:
            where = frame["layers"] == layers if layers else frame["layers"] != EVERY
            return frame[(frame["region"] == region) & where].groupby("document")["loss"].mean()

        return over(frame, of(*more) - of(*less))

    return measuring(EVICTION)(text, estimate, beyond=OTHER_KEYS)


BREAKS = beyond(
    "At the longest length RoPE as it is loses more than when it sees only lags that it was trained on (a "
    "window of T/2 and four sinks)",
    "as-is",
    "sinks",
)
OTHERS = "encodings other than RoPE, which this model does not have"
SHORTER = "lengths beyond one and a half times the training length"

claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "PE-NTK-E",
        within("Within the trained length interpolation by 2 loses more than the NTK-aware base", "pi", "ntk"),
        beyond("At the longest length it does, too", "pi", "ntk"),
    ),
    claim(
        "PE-C6",
        beyond(
            f"Without further training interpolation by 2 does not extrapolate: at the longest length it loses over "
            f"{LEVEL} nats more than the same text under a window of T/2 with four sinks",
            "pi",
            "sinks",
            ">",
            LEVEL,
            ours=True,
        ),
        missing="interpolation with further training, SuperHOT-13B and the LoRA at 6K",
    ),
    claim(
        "PE-F8",
        beyond("At the longest length RoPE as it is loses more than with the NTK-aware base by 2", "as-is", "ntk"),
        within(
            f"Within the trained length interpolation by 2 costs more than {LEVEL} nats",
            "pi",
            "as-is",
            ">",
            LEVEL,
            ours=True,
        ),
        within(f"... and the NTK-aware base by 2 at most {LEVEL}", "ntk", "as-is", "<=", LEVEL, ours=True),
        within("... and by 4 more than by 2", "ntk-4", "ntk"),
        beyond("At the longest length interpolation by 2 loses more than the NTK-aware base by 2", "pi", "ntk"),
        missing=SHORTER,
    ),
    claim(
        "PE-F9",
        beyond(
            "At the longest length RoPE as it is loses more than with dynamic NTK, the factor that this length asks "
            "for",
            "as-is",
            "dynamic-ntk",
        ),
        beyond("... and the static NTK-aware base by 2 does, too", "ntk", "dynamic-ntk"),
        missing="dynamic linear scaling, and what dynamic schemes leave of shorter texts",
    ),
    claim(
        "PE-REROPE",
        beyond("At the longest length RoPE as it is loses more than with ReRoPE", "as-is", "rerope"),
        missing="Leaky ReRoPE",
    ),
    claim("PE-C2", BREAKS, missing=OTHERS),
    claim("BAM-C18", BREAKS, missing=OTHERS),
    claim(
        "GOAT-F2a",
        beyond(
            f"At the longest length RoPE as it is loses more than {BROKEN:g} nat above what it loses when it sees "
            "only lags that it was trained on",
            "as-is",
            "sinks",
            ">",
            BROKEN,
            ours=True,
        ),
        missing=f"Goat and ALiBi; {SHORTER}",
    ),
    claim(
        "BAM-C7",
        BREAKS,
        keys(
            "And yet a window of T/2 with four sinks finds fewer keys at the longest length than the NTK-aware base",
            "ntk",
            "sinks",
            longest=True,
        ),
        missing="ALiBi",
    ),
    claim(
        "BAM-C12",
        beyond(
            f"Scalable softmax with RoPE's own base gains at most {ON_PAR} nats at the longest length",
            "as-is",
            "ssmax",
            "<=",
            ON_PAR,
            ours=True,
        ),
        beyond(f"... and costs at most {ON_PAR}", "ssmax", "as-is", "<=", ON_PAR, ours=True),
        missing="a model that was trained with scalable softmax, and its base times 50 and 100",
    ),
    claim(
        "BAM-C13",
        beyond("Scalable softmax at inference makes RoPE lose less at the longest length", "as-is", "ssmax"),
        beyond("... and the NTK-aware base by 2, too", "ntk", "ntk-ssmax"),
        beyond(
            "It does not suffice: with RoPE's own base it loses more than the NTK-aware base without it", "ssmax", "ntk"
        ),
        missing=OTHERS,
    ),
    claim(
        "BAM-F4",
        some(
            "Some heads that do not rest on the first key skip their neighbourhood: an exponent below 0, a nat or more",
            skipping,
        ),
        some("Some have a long tail: a fitted exponent between 0 and 1, a nat or more", long_tailed),
        some(
            f"Some are local with an exponent near ALiBi's: more than half of their attention on the nearest {NEAR} "
            f"keys, and 1 within {ABOUT}",
            local,
        ),
        missing="heads that look at the key of a prompt, and priors that were trained",
    ),
    claim(
        "GOAT-CSINK",
        SINK_BY_NORM,
        missing="Goat's u(j)",
    ),
    claim(
        "PC-C18",
        heads(
            "Ordinary attention has a peak at the beginning: the first key has more than one at lags 16 to 255 "
            "(mean over heads)",
            lambda own: (own["sink"] - middle(own)).mean(),
        ),
        heads(
            "... and at the end: so has one of the nearest 16", lambda own: (own["near"] / NEAR - middle(own)).mean()
        ),
        missing="parallel attention, and sinks as the trouble of NTK",
    ),
    claim(
        "PC-CQ1",
        heads(
            "Most heads have one of the three shapes",
            lambda own: shape(own).isin(SHAPES).mean(),
            ">",
            HALF,
            within=SHARE,
            ours=True,
        ),
        *(occurs(name, **how) for name, how in SHAPES.items()),
        missing="waves, and the three biases",
    ),
    claim("PC-F3", *(occurs(name, **how) for name, how in SHAPES.items())),
    claim(
        "PC-F6",
        exist(
            f"In some layers a head gives the first key more than {OUTLIER:g} of its attention: how many, at most",
            outlying,
            ours=True,
        ),
        missing="outliers other than the first key",
    ),
    claim(
        "PC-TAB3",
        beyond("At the longest length RoPE as it is loses more than with interpolation by 2", "as-is", "pi"),
        beyond("... and than with the NTK-aware base by 2", "as-is", "ntk"),
        within("Within the trained length the NTK-aware base by 2 loses more than RoPE as it is", "ntk", "as-is"),
        missing="methods that read chunks",
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
    ),
    claim(
        "PC-C7",
        of_parts(
            f"ParallelComp finds more than {MOST:.0%} of the passkeys at the longest length",
            "",
            ">",
            MOST,
            lacking=out_of_reach,
        ),
        missing="numbers, key-value pairs, and the models beside it",
    ),
    claim(
        "PC-C15",
        of_parts(
            "At the longest length ParallelComp, which keeps three chunks, finds more keys than the one chunk that "
            "BM25 retrieves",
            "lexical",
            lacking="for retrieval the paper keeps one chunk on InfiniteBench (appendix C), three are kept here",
        ),
        missing="ChatQA-2, LongBench, InfiniteBench's lengths, and questions that do not repeat the needle's words "
        "(those that do are easy for BM25)",
    ),
    claim(
        "PC-TAB2",
        of_parts(
            "At the longest length ParallelComp finds more keys than the text's end alone, to which FullKV truncates",
            "last",
        ),
        missing="five of the six tasks, and compression and calibration",
    ),
)
