"""BAM on perplexity at long contexts (Table 2, Figs. 6, 7 and 10, appendix D), attention that fades (section 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import permutations, product

import pandas as pd

from attention_priors.checks.language.losses import (
    BEYOND,
    CLOSE,
    DIVERGES,
    FADING,
    FAR,
    LEVEL,
    LOSSES,
    PERPLEXITY,
    RECIPE,
    Losses,
    Read,
    below,
    breaks,
    finding,
    first_domain,
    longer,
    second_domain,
    stays,
)
from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import BY_LENGTH
from attention_priors.checks.passkey.runs import read as passkeys
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import encoding

STABLE, UNSTABLE = ("alibi", "rope-local", "bam"), ("sinusoidal", "rope", "nope")
OTHERS = ("nope", "sinusoidal", "rope", "rope-local", "alibi")
TABLE_2 = ("sinusoidal", "rope", "alibi", "bam")  # beside NoPE
LOCAL = 0.01  # nats by which more text may move ALiBi further than a model that reads nearby tokens alone
NEAR_CHANCE = 0.1  # of passkeys
FAR_LONGER = 32  # times the training length, as in Fig. 10
BASE_50, BASE_100 = "rope-ssmax-base-50", "rope-ssmax-base-100"
UNTIL = 7500 / 1024  # times the training length: where RoPE SSMax leaves ALiBi in Fig. 10
REACH_FIXED = ("alibi", "rope-local")  # what they attend to does not grow with the context
HALF = 0.5


def figure(bound: float, read: Read, *more: str) -> list[Finding]:
    """These stay within a bound, the others diverge."""
    return [stays(name, bound, read=read) for name in (*STABLE, *more)] + [
        breaks(name, DIVERGES, read=read) for name in UNSTABLE
    ]


def gain(data: Losses, base: str) -> Estimate:
    """How many nats SSMax lowers the loss of an encoding, mean over the lengths above T."""
    scaled = f"{base}-ssmax"
    return data.gap(base, scaled, "loss", data.lengths(base, scaled, least=BEYOND))


def lead(data: Losses) -> Estimate:
    """What BAM gains from SSMax, less what any other encoding does."""
    ours = gain(data, "bam")
    return smallest({encoding(base).label: ours - gain(data, base) for base in OTHERS})


def above(data: Losses, pairs: Iterable[tuple[str, str]]) -> dict[str, Estimate]:
    """How far the loss of each first lies above that of the second at T."""
    return {f"{encoding(a).label} above {encoding(b).label}": data.gap(a, b, "loss", data.trained) for a, b in pairs}


def highest(text: str, worst: str, others: Iterable[str], read: Read) -> Finding:
    """Whose loss at T lies above all others'."""
    return finding(text, lambda data: smallest(above(data, product([worst], others))), ">", 0.0, read)


SCALED = ("sinusoidal-ssmax", "alibi-ssmax", "bam-ssmax")
KEPT_BASE = "the paper changes the base of RoPE SSMax after training (F.3: 50 times); these models keep theirs"


def table_2(read: Read) -> Iterable[Finding]:
    """At T: who is worst without SSMax and with it, and the other four without."""
    yield highest("NoPE has the highest loss at T", "nope", TABLE_2, read)
    yield highest("With SSMax NoPE has a higher loss at T than three others", "nope-ssmax", SCALED, read)
    yield replace(
        highest("With SSMax RoPE has a higher loss at T than these three", "rope-ssmax", SCALED, read),
        beyond=KEPT_BASE,
    )
    yield finding(
        f"Without SSMax the other four lie within {CLOSE} nats at T",
        lambda data: largest(above(data, permutations(TABLE_2, 2))),
        "<=",
        CLOSE,
        read,
        ours=True,
    )


def moved(frames: Frames, name: str) -> Losses:
    """Losses whose `moved` is |loss given more text - loss at T|, by seed and length: mean over documents."""
    frame = frames[LOSSES]
    frame = frame[frame["domain"] == first_domain(frames).frame["domain"].iloc[0]]
    frame = frame[frame["encoding"] == name]
    by = ["times", "seed", "document"]
    at = frame[frame["length"] == frame["trained"]].set_index(by)["loss"]
    change = (frame["loss"] - at.reindex(frame.set_index(by).index).to_numpy()).abs()
    return Losses(
        frame.assign(moved=change)
        .groupby(["encoding", "times", "seed", "length"], as_index=False)
        .agg(moved=("moved", "mean"), trained=("trained", "first"), passed=("passed", "first"))
    )


def movement(frames: Frames, name: str) -> Estimate:
    """How much more text moves an encoding's loss on a document, mean over the lengths above T."""
    data = moved(frames, name)
    return data.at(name, "moved", data.lengths(name, least=BEYOND), within=(0.0, math.inf))


def movements(frames: Frames, names: Iterable[str]) -> pd.DataFrame:
    """`movement` of several encodings with its 95 % interval, a row each; NaN where the gate was missed."""
    found = {encoding(name).label: movement(frames, name) for name in names}
    rows = [
        {"nats": each.value, **dict(zip(("low", "high"), each.interval(0.95), strict=True)), "note": each.note}
        for each in found.values()
    ]
    return pd.DataFrame(rows, index=list(found))


def fails(name: str) -> Finding:
    """No retrieval at the longest length that all were asked at."""
    return measuring(BY_LENGTH, read=passkeys)(
        f"{encoding(name).label} retrieves at most {NEAR_CHANCE} of the passkeys at the longest length",
        lambda data: data.at(name, data.lengths(name, most=FAR)[-1:]),
        "<=",
        NEAR_CHANCE,
        ours=True,
    )


DOUBLED = "the paper says it of models trained on twice the length; of those only the base × 100 is read"

# A second training length, a longer base, attention that fades


def above_alibi(data: Losses) -> Estimate:
    """How far RoPE SSMax with a hundredfold base is above ALiBi at any length until it leaves it."""
    lengths = data.lengths(BASE_100, "alibi", least=BEYOND, most=UNTIL)
    found = {f"{n / data.trained:.3g}T": data.gap(BASE_100, "alibi", "loss", n) for n in lengths}
    return largest(found) if found else unknown(data.why(BASE_100, "alibi") or "not read in common")


def faded(frame: pd.DataFrame, name: str) -> pd.Series:
    """What ln(largest weight of a row) loses from the shortest to the longest context: mean over heads, by seed."""
    own = frame[(frame["encoding"] == name) & frame["passed"].astype(bool)]
    wide = own.groupby(["seed", "length"])["peak"].mean().unstack()
    return wide.iloc[:, 0] - wide.iloc[:, -1] if len(wide) else pd.Series(dtype=float)


def fades(frame: pd.DataFrame, first: str, second: str, share: float = 1.0) -> Estimate:
    """The fading of the first less a share of that of the second, within seeds."""
    difference = (faded(frame, first) - share * faded(frame, second)).dropna()
    return mean(difference.to_dict())


fading, moves = measuring(FADING), measuring(PERPLEXITY, LOSSES)

claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim("BAM-TAB2", *table_2(first_domain), *table_2(second_domain)),
    claim("BAM-F6", *figure(LEVEL, first_domain)),
    claim(
        "BAM-F7",
        *figure(LEVEL, second_domain),
        finding("SSMax lowers the loss of BAM beyond T", lambda data: gain(data, "bam"), ">", 0.0, second_domain),
        finding("It lowers BAM's more than that of any other encoding", lead, ">", 0.0, second_domain),
    ),
    claim(
        "BAM-C7",
        stays("alibi", read=first_domain),
        finding(
            f"RoPE Local is no worse than ALiBi at 64T, within {LEVEL} nats",
            lambda data: data.gap("rope-local", "alibi", "loss", 64 * data.trained),
            "<=",
            LEVEL,
            first_domain,
            ours=True,
        ),
        *map(fails, ("alibi", "rope-local")),
    ),
    # Growth below 0.5 at every length is sub-linear growth of the perplexity at every multiple: e^0.5 < 2.
    claim(
        "BAM-C18",
        *figure(DIVERGES, first_domain, "bam-ssmax"),
        *figure(DIVERGES, second_domain, "bam-ssmax"),
    ),
    claim(
        "BAM-C23",
        finding(
            "ALiBi has a lower loss than BAM at T",
            lambda data: data.gap("alibi", "bam", "loss", data.trained),
            "<",
            0.0,
            first_domain,
            beyond="the paper explains a lead of 0.004 nats of its models of 120M; here the two are much farther apart",
        ),
        moves(
            f"More text moves ALiBi's loss on a document no more than RoPE Local's, within {LOCAL} nats",
            lambda frames: movement(frames, "alibi") - movement(frames, "rope-local"),
            "<=",
            LOCAL,
            ours=True,
        ),
        moves("It moves BAM's more than ALiBi's", lambda frames: movement(frames, "bam") - movement(frames, "alibi")),
    ),
    claim(
        "BAM-F10",
        *(stays(name, LEVEL, FAR_LONGER, longer) for name in ("alibi", "rope-local", "bam-ssmax")),
        *(breaks(name, DIVERGES, FAR_LONGER, longer) for name in ("nope", "sinusoidal")),
        *(
            below(f"RoPE grows less beyond T than {encoding(name).label}", "rope", name, "growth", longer, least=BEYOND)
            for name in ("nope", "sinusoidal")
        ),
        finding(
            f"RoPE SSMax with its base × 100 is within {LEVEL} nats of ALiBi up to {UNTIL:.2g}T",
            above_alibi,
            "<=",
            LEVEL,
            longer,
            ours=True,
        ),
    ),
    claim(
        "BAM-C12",
        below(
            "RoPE SSMax with its base × 100 has a lower loss than RoPE",
            BASE_100,
            "rope",
            read=longer,
            least=BEYOND,
            most=UNTIL + 1,
        ),
        finding(
            f"With its base × 50 it is no better than RoPE, by at most {CLOSE} nats",
            lambda data: data.gap("rope", BASE_50, "loss", data.lengths("rope", BASE_50, least=BEYOND, most=UNTIL + 1)),
            "<=",
            CLOSE,
            ours=True,
            beyond=DOUBLED,
        ),
        replace(
            below("The base × 100 is better than the base × 50", BASE_100, BASE_50, least=BEYOND, most=UNTIL + 1),
            beyond=DOUBLED,
        ),
    ),
    claim(
        "BAM-C5",
        fading(
            "The largest weight of BAM's rows falls from the shortest to the longest context",
            lambda frame: mean(faded(frame, "bam").to_dict()),
        ),
        fading(
            "It falls more than that of ALiBi and RoPE Local, whose reach does not grow",
            lambda frame: smallest({encoding(name).label: fades(frame, "bam", name) for name in REACH_FIXED}),
        ),
        fading(
            f"With SSMax it falls by no more than {HALF} of that (our share)",
            lambda frame: fades(frame, "bam-ssmax", "bam", HALF),
            "<=",
            0.0,
        ),
    ),
)
