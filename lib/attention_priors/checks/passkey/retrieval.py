"""BAM on passkeys (section 3.1, appendix F.4; Figs. 2, 3 and 13): how far, against which others, with SSMax or without.

Beyond the training length T, lengths from 2T to 64T count, as in the paper's figures. The others are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import (
    BY_LENGTH,
    HIGH,
    LONG,
    MARGIN,
    OURS,
    PERFECT,
    REACH,
    RECIPE,
    SAMPLES,
    Runs,
    read,
)
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, share, smallest, unknown
from attention_priors.claims.finding import lead as between
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.arms import FIXED
from attention_priors.positions.encodings import encoding

BASES = ("nope", "sinusoidal", "rope", "rope-local", "alibi")  # what BAM is compared with
SCALED = tuple(f"{base}-ssmax" for base in BASES)
NEAR_CHANCE = 0.1
CONFOUND = "passkey_confound"
FAR, SOON = 500, 2  # multiples of the training length
RATIO = 25
NEARLY_ALL = 5  # of the six encodings
BANDS, EMPTY_CELLS = 5, 3 / 55  # of Fig. 3: 11 lengths (Table 5) and five depths would make 55


def stays(data: Runs) -> Estimate:
    """The lowest accuracy of BAM SSMax at any length up to 64T."""
    return smallest(data.at_every(OURS, LONG))


def far(data: Runs) -> Estimate:
    """BAM SSMax at 500T."""
    return data.at(OURS, FAR * data.trained)


def falls(data: Runs) -> Estimate:
    """ALiBi SSMax at T, less at the longest length that it shares with BAM SSMax."""
    name = "alibi-ssmax"
    last = data.beyond(name, OURS)[-1:]
    found = between(data.counts(name, [data.trained]), data.counts(name, last))
    return unknown(data.why(name, OURS)) if math.isnan(found.value) else found


def highest(*names: str, at: int) -> Callable[[Runs], Estimate]:
    """The highest accuracy of any of these at `at` times T."""
    return lambda data: largest(data.each(names, at))


def gaining(data: Runs) -> Estimate:
    """How many of the six gain from SSMax in the mean from 2T to 64T: surely, and at most."""
    gains = {base: data.lead(f"{base}-ssmax", base, data.beyond(f"{base}-ssmax", base)) for base in (*BASES, "bam")}

    def interval(level: float) -> tuple[float, float]:
        ends = [gain.interval(level) for gain in gains.values()]
        return float(sum(low > 0 for low, _ in ends)), float(sum(high > 0 for _, high in ends))

    known = {base: gain for base, gain in gains.items() if not math.isnan(gain.value)}
    gone = [base for base in gains if base not in known]
    note = f"not compared: {', '.join(gone)}" if gone else ""
    seeds = tuple(sorted({seed for gain in known.values() for seed in gain.seeds}))
    return Estimate(interval(0.95)[0], interval, seeds, note) if known else unknown(note)


def cells(hit: Callable[[pd.Series], pd.Series]) -> Callable[[Frames], Estimate]:
    """The share of the cells of Fig. 3 that are as `hit` says of their mean, by seed.

    A cell is a length and a fifth of the depth, or less finely divided where few prompts were asked: a cell of one
    prompt would be empty at its first miss.
    """

    def estimate(frames: Frames) -> Estimate:
        data, rows = read(frames), frames[SAMPLES]
        rows = rows[(rows["form"] == "plain") & (rows["encoding"] == OURS) & rows["seed"].isin(data.seeds(OURS))]
        rows = rows[rows["length"] >= data.trained]
        if rows.empty or rows["length"].max() < FAR * data.trained:
            return unknown(data.why(OURS) or f"{OURS} not asked at {FAR}T")
        prompts = rows.groupby(["seed", "length"])["depth"].transform("size")
        bands = (prompts // 2).clip(1, BANDS)
        band = np.minimum((rows["depth"] * bands).astype(int), bands - 1)
        found = hit(rows.assign(band=band).groupby(["seed", "length", "band"])["correct"].mean())
        counts = found.groupby("seed").agg(["sum", "size"])
        return share({int(seed): (int(row["sum"]), int(row["size"])) for seed, row in counts.iterrows()})

    return estimate


def further(frames: Frames) -> Estimate:
    """Reach of BAM SSMax over that of the others, in doublings: the smallest of the differences of means of log2.

    A reach may lie up to one step of the lengths further than the one that was counted, and anywhere beyond the last
    that its seed was asked at. The intervals are widened by that.
    """
    data, reach = read(frames), frames[REACH]
    reach = reach[reach["form"] == "plain"]
    logs, open_ends = {}, {}
    for name in (OURS, *BASES, *SCALED):
        own = reach[(reach["encoding"] == name) & reach["seed"].isin(data.seeds(name))]
        if len(own):
            values = np.log2(own["reach"].clip(lower=data.trained) / data.trained)
            logs[name] = mean(dict(zip(own["seed"], values, strict=True)))
            lengths = data.lengths(name, least=1.0)
            open_ends[name] = max(
                math.inf if one.reach >= one.longest_tested else _step(max(one.reach, data.trained), lengths)
                for one in own.itertuples()
            )
    others = [name for name in logs if name != OURS]
    if OURS not in logs or not others:
        return unknown(data.why(OURS, *BASES))
    found = smallest({name: _widened(logs[OURS] - logs[name], open_ends[name], open_ends[OURS]) for name in others})
    return replace(found, note=f"{2**found.value:.3g} times as far as the nearest here; {found.note}".rstrip("; "))


def _widened(found: Estimate, down: float, up: float) -> Estimate:
    """An estimate whose true value may lie that much lower or higher."""

    def interval(level: float) -> tuple[float, float]:
        low, high = found.interval(level)
        return low - down, high + up

    return replace(found, interval=interval)


def _step(reach: int, lengths: list[int]) -> float:
    """Doublings from a reach to the next length asked; infinitely many where that was the last."""
    return min((math.log2(length / reach) for length in lengths if length > reach), default=math.inf)


accuracy = measuring(BY_LENGTH, read=read)
of_cells = measuring(BY_LENGTH, SAMPLES)
beside_confound = measuring(BY_LENGTH, CONFOUND, read=read)


def leads(text: str, ours: str, others: Iterable[str]) -> Finding:
    """A lead in mean accuracy from 2T to 64T over each of the others."""
    return accuracy(
        f"{text} (smallest lead in mean accuracy from 2T to 64T)",
        lambda data: data.ahead([ours], others),
        margin=MARGIN,
    )


HELPS = accuracy(
    f"SSMax helps nearly all: at least {NEARLY_ALL} of 6 encodings gain in mean accuracy from 2T to 64T (counted: "
    "certain gains; the interval: up to those that may)",
    gaining,
    ">=",
    NEARLY_ALL,
    ours=True,
)
CHANCE_AT = f"close to chance at {SOON}T already: at most {NEAR_CHANCE}"


def varied(frames: Frames) -> str:
    """How these models were trained otherwise than the paper's, and what those trained as there answer beyond T."""
    said = "the paper trains at one length, these models at varied ones"
    frame = frames.get(CONFOUND)
    if frame is None:
        return said
    own = frame[(frame["training"] == FIXED) & (frame["length"] == frame["length"].max())]
    shares = own.groupby("encoding")["accuracy"].mean().sort_values(ascending=False)
    told = ", ".join(f"{encoding(name).label} {share:.2f}" for name, share in shares.items() if name != "bam")
    return f"{said}; trained at one, at {own['length'].max() / own['trained'].iloc[0]:g}T: {told}"


claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "BAM-F2",
        accuracy(
            f"BAM SSMax stays perfect up to {LONG}T: at least {PERFECT} at every length",
            stays,
            ">=",
            PERFECT,
            ours=True,
        ),
        accuracy("ALiBi SSMax falls off: its accuracy at T less that at the longest length", falls, margin=MARGIN),
        beside_confound(
            f"Sinusoidal, RoPE and NoPE with SSMax are {CHANCE_AT}",
            highest("sinusoidal-ssmax", "rope-ssmax", "nope-ssmax", at=SOON),
            "<=",
            NEAR_CHANCE,
            ours=True,
            beyond=varied,
        ),
    ),
    claim(
        "BAM-F3",
        of_cells("Most cells of length and depth are perfect", cells(lambda share: share == 1), ">", 0.5),
        of_cells(
            "No more than 3 in 55 cells of length and depth are at 0",
            cells(lambda share: share == 0),
            "<=",
            EMPTY_CELLS,
        ),
        accuracy(f"BAM SSMax at {FAR}T: accuracy above {HIGH}", far, ">", HIGH),
    ),
    claim(
        "BAM-F13",
        leads("Without SSMax BAM is ahead of every other encoding", "bam", BASES),
        HELPS,
    ),
    claim(
        "BAM-C1",
        accuracy(f"BAM SSMax at {FAR}T: accuracy of at least {HIGH}", far, ">=", HIGH, ours=True),
        measuring(BY_LENGTH, REACH)(
            f"BAM SSMax keeps {HIGH} more than {RATIO} times as far as the best other, in doublings (reach)",
            further,
            ">",
            math.log2(RATIO),
        ),
    ),
    claim(
        "BAM-C6",
        accuracy(f"BAM SSMax keeps an accuracy of {HIGH} at every length up to {LONG}T", stays, ">=", HIGH, ours=True),
        accuracy(
            f"BAM alone: at {LONG}T all others are below {HIGH}",
            highest(*BASES, *SCALED, at=LONG),
            "<",
            HIGH,
            ours=True,
        ),
        beside_confound(
            f"Every other encoding, with SSMax or without, is {CHANCE_AT}",
            highest(*BASES, *SCALED, at=SOON),
            "<=",
            NEAR_CHANCE,
            ours=True,
            beyond=varied,
        ),
    ),
    claim(
        "BAM-C13",
        HELPS,
        leads("A good encoding is needed: BAM SSMax leads all others that have SSMax", OURS, SCALED),
        leads("It does not suffice: BAM SSMax leads BAM without SSMax", OURS, ("bam",)),
    ),
)
