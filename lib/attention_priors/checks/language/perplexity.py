"""BAM on perplexity at long contexts (section 3.1, appendix D; Table 2, Figs. 6 and 7)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from attention_priors.checks.language.losses import (
    CLOSE,
    DIVERGES,
    FAR,
    LEVEL,
    LOSSES,
    PERPLEXITY,
    RECIPE,
    Losses,
    Read,
    breaks,
    finding,
    first_domain,
    second_domain,
    stays,
)
from attention_priors.checks.passkey.runs import BY_LENGTH
from attention_priors.checks.passkey.runs import read as passkeys
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, smallest
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import encoding

STABLE, UNSTABLE = ("alibi", "rope-local", "bam"), ("sinusoidal", "rope", "nope")
OTHERS = ("nope", "sinusoidal", "rope", "rope-local", "alibi")
TABLE_2 = ("sinusoidal", "rope", "alibi", "bam")  # beside NoPE
LOCAL = 0.01  # nats by which a model that reads nearby tokens alone may move when it is given more text
NEAR_CHANCE = 0.1  # of passkeys


def figure(bound: float, read: Read, *more: str) -> list[Finding]:
    """These stay within a bound, the others diverge."""
    return [stays(name, bound, read=read) for name in (*STABLE, *more)] + [
        breaks(name, DIVERGES, read=read) for name in UNSTABLE
    ]


def gain(data: Losses, base: str) -> Estimate:
    """How many nats SSMax lowers the loss of an encoding, mean over the lengths above T."""
    scaled = f"{base}-ssmax"
    return data.gap(base, scaled, "loss", data.lengths(base, scaled, least=1.001))


def lead(data: Losses) -> Estimate:
    """What BAM gains from SSMax, less what any other encoding does."""
    ours = gain(data, "bam")
    return smallest({encoding(base).label: ours - gain(data, base) for base in OTHERS})


def table_2(read: Read) -> Iterable[Finding]:
    """At T, without SSMax."""
    yield finding(
        "NoPE has the highest loss at T",
        lambda data: smallest({encoding(name).label: data.gap("nope", name, "loss", data.trained) for name in TABLE_2}),
        ">", 0.0, read,
    )  # fmt: skip
    yield finding(
        f"The other four lie within {CLOSE} nats at T",
        lambda data: largest({f"{encoding(a).label} above {encoding(b).label}": data.gap(a, b, "loss", data.trained)
                              for a in TABLE_2 for b in TABLE_2 if a != b}),
        "<=", CLOSE, read, ours=True,
    )  # fmt: skip


def moved(frames: Frames, name: str) -> Losses:
    """Losses whose `moved` is |loss given more text - loss at T|, by seed and length: mean over documents."""
    frame = frames[LOSSES]
    frame = frame[frame["domain"] == first_domain(frames).frame["domain"].iloc[0]]
    frame = frame[frame["encoding"] == name]
    by = ["times", "seed", "document"]
    at = frame[frame["length"] == frame["trained"]].set_index(by)["loss"]
    change = (frame["loss"] - at.reindex(frame.set_index(by).index).to_numpy()).abs()
    return Losses(frame.assign(moved=change).groupby(["encoding", "times", "seed", "length"], as_index=False)
                  .agg(moved=("moved", "mean"), trained=("trained", "first"), passed=("passed", "first")))  # fmt: skip


def movement(frames: Frames, name: str) -> Estimate:
    """How much more text moves an encoding's loss on a document, mean over the lengths above T."""
    data = moved(frames, name)
    return data.at(name, "moved", data.lengths(name, least=1.001), within=(0.0, math.inf))


def movements(frames: Frames, names: Iterable[str]) -> pd.DataFrame:
    """`movement` of several encodings with its 95 % interval, a row each; NaN where the gate was missed."""
    found = {encoding(name).label: movement(frames, name) for name in names}
    rows = [{"nats": each.value, **dict(zip(("low", "high"), each.interval(0.95), strict=True)), "note": each.note}
            for each in found.values()]  # fmt: skip
    return pd.DataFrame(rows, index=list(found))


def fails(name: str) -> Finding:
    """No retrieval at the longest length that all were asked at."""

    def estimate(frames: Frames) -> Estimate:
        data = passkeys(frames)
        return data.at(name, data.lengths(name, most=FAR)[-1:])

    text = f"{encoding(name).label} retrieves at most {NEAR_CHANCE} of the passkeys at the longest length"
    return Finding(text, estimate, "<=", NEAR_CHANCE, metrics=(BY_LENGTH,), ours=True)


CHECKS = claims(
    claim("BAM-TAB2", *table_2(first_domain), *table_2(second_domain), recipe=RECIPE),
    claim("BAM-F6", *figure(LEVEL, first_domain), recipe=RECIPE),
    claim(
        "BAM-F7",
        *figure(LEVEL, second_domain),
        finding("SSMax lowers the loss of BAM beyond T", lambda data: gain(data, "bam"), ">", 0.0, second_domain),
        finding("It lowers BAM's more than that of any other encoding", lead, ">", 0.0, second_domain),
        recipe=RECIPE,
    ),
    claim(
        "BAM-C7",
        stays("alibi", read=first_domain),
        finding(
            f"RoPE Local is no worse than ALiBi at 64T, within {LEVEL} nats",
            lambda data: data.gap("rope-local", "alibi", "loss", 64 * data.trained), "<=", LEVEL, first_domain,
            ours=True,
        ),
        *map(fails, ("alibi", "rope-local")),
        recipe=RECIPE,
    ),
    # Growth below 0.5 at every length is sub-linear growth of the perplexity at every multiple: e^0.5 < 2.
    claim(
        "BAM-C18",
        *figure(DIVERGES, first_domain, "bam-ssmax"),
        *figure(DIVERGES, second_domain, "bam-ssmax"),
        recipe=RECIPE,
    ),
    claim(
        "BAM-C23",
        finding("ALiBi has a lower loss than BAM at T", lambda data: data.gap("alibi", "bam", "loss", data.trained),
                "<", 0.0, first_domain),
        Finding(f"More text moves ALiBi's loss on a document by less than {LOCAL} nats",
                lambda frames: movement(frames, "alibi"), "<", LOCAL, metrics=(PERPLEXITY, LOSSES), ours=True),
        Finding("It moves BAM's more than ALiBi's",
                lambda frames: movement(frames, "bam") - movement(frames, "alibi"), ">", 0.0,
                metrics=(PERPLEXITY, LOSSES)),
        recipe=RECIPE,
    ),
)  # fmt: skip
