"""BAM on a second training length (Fig. 10), a longer base (appendix D), and attention that fades (section 3)."""

from __future__ import annotations

import pandas as pd

from attention_priors.checks.language.losses import (
    BEYOND,
    CLOSE,
    DIVERGES,
    FADING,
    LEVEL,
    RECIPE,
    Losses,
    below,
    breaks,
    finding,
    longer,
    stays,
)
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, smallest, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.positions.encodings import encoding

FAR = 32  # times the training length, as in Fig. 10
BASE_50, BASE_100 = "rope-ssmax-base-50", "rope-ssmax-base-100"
UNTIL = 7500 / 1024  # times the training length: where RoPE SSMax leaves ALiBi in Fig. 10
LOCAL = ("alibi", "rope-local")  # what they attend to does not grow with the context
HALF = 0.5


def above_alibi(data: Losses) -> Estimate:
    """How far RoPE SSMax with a hundredfold base is above ALiBi at any length until it leaves it."""
    lengths = data.lengths(BASE_100, "alibi", least=BEYOND, most=UNTIL)
    found = {f"{n / data.trained:.3g}T": data.gap(BASE_100, "alibi", "loss", n) for n in lengths}
    return largest(found) if found else unknown(data.why(BASE_100, "alibi") or "not read in common")


def faded(frames: Frames, name: str) -> pd.Series:
    """What ln(largest weight of a row) loses from the shortest to the longest context: mean over heads, by seed."""
    frame = frames[FADING]
    own = frame[(frame["encoding"] == name) & frame["passed"].astype(bool)]
    wide = own.groupby(["seed", "length"])["peak"].mean().unstack()
    return wide.iloc[:, 0] - wide.iloc[:, -1] if len(wide) else pd.Series(dtype=float)


def fades(frames: Frames, first: str, second: str, share: float = 1.0) -> Estimate:
    """The fading of the first less a share of that of the second, within seeds."""
    difference = (faded(frames, first) - share * faded(frames, second)).dropna()
    return mean({int(seed): float(value) for seed, value in difference.items()})


CHECKS = claims(
    claim(
        "BAM-F10",
        *(stays(name, LEVEL, FAR, longer) for name in ("alibi", "rope-local", "bam-ssmax")),
        *(breaks(name, DIVERGES, FAR, longer) for name in ("nope", "sinusoidal")),
        *(below(f"RoPE grows less beyond T than {encoding(name).label}", "rope", name, "growth", longer, least=BEYOND)
          for name in ("nope", "sinusoidal")),
        finding(f"RoPE SSMax with its base × 100 is within {LEVEL} nats of ALiBi up to {UNTIL:.2g}T", above_alibi,
                "<=", LEVEL, longer, ours=True),
        recipe=RECIPE,
    ),
    claim(
        "BAM-C12",
        below("RoPE SSMax with its base × 100 has a lower loss than RoPE", BASE_100, "rope", least=BEYOND,
              most=UNTIL + 1),
        finding(f"With its base × 50 it is no better than RoPE, by at most {CLOSE} nats",
                lambda data: data.gap("rope", BASE_50, "loss",
                                      data.lengths("rope", BASE_50, least=BEYOND, most=UNTIL + 1)),
                "<=", CLOSE, ours=True),
        below("The base × 100 is better than the base × 50", BASE_100, BASE_50, least=BEYOND, most=UNTIL + 1),
        recipe=RECIPE,
    ),
    claim(
        "BAM-C5",
        Finding("The largest weight of BAM's rows falls from the shortest to the longest context",
                lambda frames: mean(faded(frames, "bam").to_dict()), ">", 0.0, metrics=(FADING,)),
        Finding("It falls more than that of ALiBi and RoPE Local, whose reach does not grow",
                lambda frames: smallest({encoding(name).label: fades(frames, "bam", name) for name in LOCAL}),
                ">", 0.0, metrics=(FADING,)),
        Finding(f"With SSMax it falls by no more than {HALF} of that (our share)",
                lambda frames: fades(frames, "bam-ssmax", "bam", HALF), "<=", 0.0, metrics=(FADING,)),
        recipe=RECIPE,
    ),
)  # fmt: skip
