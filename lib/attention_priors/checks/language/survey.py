"""The survey on perplexity beyond the training length, its summary table, and the post on relative positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pandas as pd

from attention_priors.checks.language.losses import (
    BEYOND,
    LEVEL,
    RECIPE,
    Losses,
    Read,
    below,
    breaks,
    finding,
    readings,
    small,
    stays,
)
from attention_priors.claims.finding import Estimate, Finding, Frames, smallest
from attention_priors.claims.law import Law, claim, claims
from attention_priors.experiments import properties
from attention_priors.experiments.readings import BENCHMARK
from attention_priors.positions.encodings import encoding

ABSOLUTE = ("sinusoidal", "learned")
KERNELS = ("kerple-power", "kerple-log")
RELATIVE = ("t5", "alibi", *KERNELS, "sandwich", "rope", "rope-bias", "xpos")
GROUPS = ("rope", "rope-learned", "xpos", "group-damped", "group-defective", "alibi")
SIZED = (*ABSOLUTE, "alibi")  # beside NoPE, at every size
NEAR = 4  # "interpolating" lengths: up to four times
PROPERTIES = ("relative", "trainable", "each_layer")
SUMMARY = {  # the survey's table as reconstructed: these three, then whether it extrapolates
    "sinusoidal": (False, False, False, False),
    "t5": (True, True, True, True),
    "rope": (True, False, True, False),
    "alibi": (True, False, True, True),
    "kerple-log": (True, True, True, True),
    "sandwich": (True, False, True, True),
    "xpos": (True, False, True, True),
}


def less(names: Iterable[str], than: Iterable[str] = ABSOLUTE) -> Iterator[Finding]:
    """Each of these grows less beyond T than every one of the others."""
    for name in names:
        words = " and ".join(encoding(other).label for other in than)
        text = f"{encoding(name).label} grows less beyond T than {words}"
        yield below(text, name, tuple(than), "growth", least=BEYOND)


def nope_at(size: str, read: Read) -> Iterator[Finding]:
    """Haviv et al. 2022: at every size NoPE is a little worse than learned, sinusoidal and ALiBi."""

    def leads(data: Losses) -> dict[str, Estimate]:
        return {encoding(name).label: data.gap("nope", name, "loss", data.trained) for name in SIZED}

    text = f"{size}: NoPE has a higher loss at T than {', '.join(encoding(name).label for name in SIZED)}"
    yield finding(text, lambda data: smallest(leads(data)), ">", 0.0, read)
    for name in SIZED:
        yield finding(
            f"{size}: by at most {LEVEL} nats more than {encoding(name).label}",
            lambda data, name=name: leads(data)[encoding(name).label], "<=", LEVEL, read, ours=True,
        )  # fmt: skip


def tested(name: str) -> dict[str, bool]:
    """The three properties of structure, by tests on a model."""
    return properties.properties([name])[list(PROPERTIES)].iloc[0].to_dict()


def printed(name: str) -> dict[str, bool]:
    """The survey's entries for them."""
    return dict(zip(PROPERTIES, SUMMARY[name], strict=False))


def swapped(name: str) -> dict[str, bool]:
    """The entries with "trainable" and "relative" exchanged."""
    return printed(name) | {"relative": printed(name)["trainable"], "trainable": printed(name)["relative"]}


def property_table(frames: Frames) -> pd.DataFrame:
    """The survey's summary for every encoding that was trained, by tests: a row each, `survey` as it has it.

    `extrapolates`: the growth is within LEVEL at every length up to FAR times T (yes), certainly not (no), or cannot be
    told (open). `growth` [low, high] in nats is that at `length`, the longest, of the models that passed their gate.
    """
    data, rows = readings(frames, (BENCHMARK,)), []
    for row in properties.properties(data.frame["encoding"].unique()).to_dict("records"):
        name, claimed = row["encoding"], SUMMARY.get(row["encoding"])
        length = max(data.lengths(name), default=data.trained)
        at = data.at(name, "growth", length)
        outcome = stays(name).side(data.grows(name), 0.95)
        low, high = at.interval(0.95)
        rows.append(row | {
            "growth": at.value, "low": low, "high": high, "length": length, "trained": data.trained,
            "extrapolates": {"agrees": "yes", "disagrees": "no"}.get(outcome, "open"),
            "survey": "".join("NY"[each] for each in claimed) if claimed else "",
            "seeds": len(at.seeds),
        })  # fmt: skip
    return pd.DataFrame(rows)


CHECKS = claims(
    claim("PE-C2", *map(stays, ("alibi", "t5")), *map(breaks, ("sinusoidal", "rope")), recipe=RECIPE),
    claim("PE-C3", *map(stays, RELATIVE), *map(breaks, ABSOLUTE), recipe=RECIPE),
    claim("PE-C4", *less(RELATIVE), recipe=RECIPE),
    claim(
        "PE-C5",
        below(f"T5's buckets grow less up to {NEAR}T than one bias for each lag", "t5", "lag-table", "growth",
              least=BEYOND, most=NEAR),
        recipe=RECIPE,
    ),
    claim("PE-KERPLE-E", *map(stays, KERNELS), recipe=RECIPE),
    claim("PE-BIAS", *less(["rope-bias"], ["rope"]), recipe=RECIPE),
    # Press et al. 2022, Fig. 1, from the lowest curve to the highest.
    claim(
        "PE-F3",
        stays("alibi"),
        *less(["alibi"], ["t5"]), *less(["t5"], ["rope"]), *less(["rope"], ["sinusoidal"]),
        recipe=RECIPE,
    ),
    claim("PE-F6", *nope_at("second size", small), *nope_at("profile's size", readings), recipe=RECIPE),
    claim(
        "PE-TAB",
        Law("Tests for relative, trainable and in each layer give the table's entries", printed, tested,
            [{"name": name} for name in SUMMARY], wrong=swapped),
        *(stays(name) if entries[-1] else breaks(name) for name, entries in SUMMARY.items()),
        recipe=RECIPE,
    ),
    claim("OPG-18", *less(GROUPS), recipe=RECIPE),
)  # fmt: skip
