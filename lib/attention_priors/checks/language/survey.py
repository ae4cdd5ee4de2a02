"""The survey on perplexity beyond the training length, its summary table, and on extensions of a trained RoPE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from attention_priors.checks.language.losses import (
    AGAIN,
    BEYOND,
    DIVERGES,
    LEVEL,
    RECIPE,
    T5,
    Losses,
    Read,
    below,
    breaks,
    finding,
    label,
    readings,
    small,
    stays,
)
from attention_priors.checks.rotations.laws import LAWS
from attention_priors.claims.finding import Estimate, Finding, Frames, mean, smallest, unknown
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.experiments import properties
from attention_priors.experiments.readings import BENCHMARK
from attention_priors.positions.encodings import FACTOR, encoding

ABSOLUTE = ("sinusoidal", "learned")
KERNELS = ("kerple-power", "kerple-log")
RELATIVE = (T5, "alibi", *KERNELS, "sandwich", "rope", "rope-bias", "xpos")
GROUPS = ("rope", "rope-learned", "xpos", "group-damped", "group-defective", "alibi")
SIZED = (*ABSOLUTE, "alibi")  # beside NoPE, at every size
NEAR = 4  # "interpolating" lengths: up to four times
PROPERTIES = ("relative", "trainable", "each_layer")
SUMMARY = {  # the survey's table as reconstructed: these three, then whether it extrapolates
    "sinusoidal": (False, False, False, False),
    T5: (True, True, True, True),
    "rope": (True, False, True, False),
    "alibi": (True, False, True, True),
    "kerple-log": (True, True, True, True),
    "sandwich": (True, False, True, True),
    "xpos": (True, False, True, True),
}


def less(names: Iterable[str], than: Iterable[str] = ABSOLUTE) -> Iterator[Finding]:
    """Each of these grows less beyond T than every one of the others."""
    for name in names:
        words = " and ".join(map(label, than))
        text = f"{label(name)} grows less beyond T than {words}"
        yield below(text, name, tuple(than), "growth", least=BEYOND)


def invariant(absolute: str, remark: str = "") -> Finding:
    """Translation-invariant encodings grow less beyond T than an absolute one, in the mean over them."""

    def estimate(data: Losses) -> Estimate:
        lengths = data.lengths(*GROUPS, absolute, least=BEYOND)
        apart = [data.by_seed(absolute, "growth", lengths) - data.by_seed(name, "growth", lengths) for name in GROUPS]
        found = (sum(apart) / len(apart)).dropna()
        return mean(found.to_dict()) if len(found) else unknown(data.why(*GROUPS, absolute) or "not read in common")

    names = "; ".join(encoding(name).label for name in GROUPS)
    text = f"Beyond T the loss grows less with relative encodings than with {encoding(absolute).label}{remark}"
    return finding(f"{text}: mean over {names}", estimate, ">", 0.0)


def nope_at(size: str, read: Read) -> Iterator[Finding]:
    """Haviv et al. 2022: at every size NoPE is a little worse than learned, sinusoidal and ALiBi."""

    def leads(data: Losses) -> dict[str, Estimate]:
        return {encoding(name).label: data.gap("nope", name, "loss", data.trained) for name in SIZED}

    text = f"{size}: NoPE has a higher loss at T than {', '.join(encoding(name).label for name in SIZED)}"
    yield finding(text, lambda data: smallest(leads(data)), ">", 0.0, read)
    for name in SIZED:
        yield finding(
            f"{size}: by at most {LEVEL} nats more than {encoding(name).label}",
            lambda data, name=name: leads(data)[encoding(name).label],
            "<=",
            LEVEL,
            read,
            ours=True,
        )


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
        rows.append(
            row
            | {
                "growth": at.value,
                "low": low,
                "high": high,
                "length": length,
                "trained": data.trained,
                "extrapolates": "no" if low > LEVEL else {"agrees": "yes", "disagrees": "no"}.get(outcome, "open"),
                "survey": "".join("NY"[each] for each in claimed) if claimed else "",
                "seeds": len(at.seeds),
            }
        )
    return pd.DataFrame(rows)


# Extensions of a trained RoPE, read on its weights. Growth is the loss above that of the trained model at T.

ROPE, LINEAR_4, NTK_4, LINEAR, NTK = "rope", "rope-pi-4", "rope-ntk-4", "rope-pi", "rope-ntk"
TUNED, TUNED_ROPE = LINEAR_4 + AGAIN, ROPE + AGAIN
DYNAMIC, DYNAMIC_NTK, CLIPPED = "rope-dynamic-linear", "rope-dynamic-ntk", ("rope-rerope", "rope-leaky-rerope")
BY = 4  # the survey's listing has a scale of 1/4; profiles train further at that length
HALF = 0.5  # of what a model gains from the order of neighbours: kept less, it no longer tells them apart
CLIPPED_TO = 8
BLOWN = 16  # times T: four times what a factor of 4 is meant for
TIMES = f"{FACTOR:.3g}"


def at(lower: str, upper: str, times: float, text: str) -> Finding:
    """`lower` has the lower loss at one length."""
    return below(text, lower, upper, least=0.999 * times, most=1.001 * times)


def order(text: str, value: Callable[[pd.DataFrame], pd.Series], names: tuple[str, ...], relation: str) -> Finding:
    """What exchanging two neighbours costs (nats), compared within each seed."""

    def estimate(data: Losses) -> Estimate:
        costs = pd.DataFrame({name: data.by_seed(name, "swap", [data.trained]) for name in names}).dropna()
        return mean(value(costs).to_dict()) if len(costs) else unknown(data.why(*names))

    return finding(text, estimate, relation, 0.0)


def spoils(name: str, relation: str, bound: float, text: str) -> Finding:
    """What an extension costs at T."""
    return finding(text, lambda data: data.gap(name, ROPE, "loss", data.trained), relation, bound, ours=True)


# What the survey says of four in its text, too; how far "strong" is, it does not say: twice T is T5's here.
EXTRAPOLATE = (
    *less(("alibi", T5), ("sinusoidal", "rope")),
    stays("alibi"),
    stays(T5, times=2),
    *map(breaks, ("sinusoidal", "rope")),
)

claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim("PE-C2", *EXTRAPOLATE, replace(stays(T5), decides=False)),
    claim(
        "PE-C3",
        stays("alibi"),
        *map(breaks, ABSOLUTE),
        practice="To be relative is a means, not enough: RoPE is, and the survey says that it does not extrapolate "
        "(PE-C2).",
    ),
    claim(
        "PE-C4",
        *less(RELATIVE, ["sinusoidal"]),
        *(replace(each, decides=False) for each in less(RELATIVE, ["learned"])),
        practice="Rows of learned positions beyond T were never trained, and decide nothing; they do less harm than "
        "RoPE's angles there.",
    ),
    claim(
        "PE-C5",
        below(
            f"T5's buckets grow less up to {NEAR}T, in the mean, than one bias for each lag, whose entries beyond T "
            "were never trained (our reading of interpolation)",
            T5,
            "lag-table",
            "growth",
            least=BEYOND,
            most=NEAR,
        ),
    ),
    claim("PE-KERPLE-E", *map(stays, KERNELS)),
    claim("PE-BIAS", *less(["rope-bias"], ["rope"])),
    # Press et al. 2022, Fig. 1, from the lowest curve to the highest.
    claim(
        "PE-F3",
        stays("alibi"),
        *less(["alibi"], [T5]),
        *less([T5], ["rope"]),
        *less(["rope"], ["sinusoidal"]),
    ),
    claim("PE-F6", *nope_at("second size", small), *nope_at("profile's size", readings)),
    claim(
        "PE-TAB",
        Law(
            "Tests for relative, trainable and in each layer give the entries as we restore them (the survey's text "
            "has the table's names alone)",
            printed,
            tested,
            grid(name=SUMMARY),
            wrong=swapped,
            ours=True,
        ),
        *EXTRAPOLATE,
    ),
    claim(
        "OPG-18",
        invariant("sinusoidal"),
        invariant("learned", " (its vectors there were never trained)"),
        *(replace(each, decides=False) for each in less(GROUPS)),
        practice="Relative position alone is not enough: RoPE's angles beyond T are new, too.",
    ),
    claim(
        "PE-PI",
        breaks(LINEAR_4, LEVEL, BY),
        finding(
            f"Trained further, it is within {LEVEL} nats at {BY}T",
            lambda data: data.at(TUNED, "growth", BY * data.trained),
            "<=",
            LEVEL,
            ours=True,
        ),
    ),
    claim(
        "PE-PI-E2",
        order("RoPE loses when two neighbours are exchanged", lambda cost: cost[ROPE], (ROPE,), ">"),
        order(
            f"Interpolation by {TIMES} keeps at most {HALF} of that (our share)",
            lambda cost: cost[LINEAR] - HALF * cost[ROPE],
            (LINEAR, ROPE),
            "<=",
        ),
        order(
            f"NTK-aware scaling by {TIMES} keeps more than interpolation",
            lambda cost: cost[NTK] - cost[LINEAR],
            (NTK, LINEAR),
            ">",
        ),
    ),
    claim(
        "PE-NTK-E",
        *(
            below(
                f"NTK-aware scaling by {factor:.3g} is below interpolation, in the mean up to {factor:.3g}T",
                ntk,
                linear,
                most=factor,
            )
            for ntk, linear, factor in ((NTK_4, LINEAR_4, BY), (NTK, LINEAR, FACTOR))
        ),
        at(NTK_4, LINEAR_4, BY, f"So is it by {BY} at {BY}T"),
        at(NTK, LINEAR, FACTOR, f"and by {TIMES} at {TIMES}T"),
    ),
    claim(
        "PE-DNTK-E",
        at(DYNAMIC, NTK_4, 1, f"At T dynamic linear scaling is below NTK by {BY}"),
        at(NTK_4, DYNAMIC, BY, f"At {BY}T NTK by {BY} is below dynamic linear scaling"),
        *(breaks(name, DIVERGES, BLOWN) for name in (NTK_4, ROPE, LINEAR_4)),
    ),
    claim(
        "PE-REROPE",
        *(
            below(
                f"{encoding(name).label} has a lower loss than RoPE from 2T to {CLIPPED_TO}T",
                name,
                ROPE,
                least=BEYOND,
                most=CLIPPED_TO,
            )
            for name in CLIPPED
        ),
        LAWS["ReRoPE"],
        LAWS["Leaky ReRoPE"],
    ),
    # Chen et al. 2023 and SuperHOT: interpolation with further training, against further training alone.
    claim(
        "PE-F7",
        at(TUNED, ROPE, BY, f"At {BY}T interpolation trained further is below RoPE as it was trained"),
        at(TUNED, TUNED_ROPE, BY, f"At {BY}T it is below RoPE trained further as much"),
        stays(TUNED, LEVEL, BY),
    ),
    # RoPE, linear scaling by 4 and NTK by 2, 4, 8, none of them trained further.
    claim(
        "PE-F8",
        breaks(ROPE, LEVEL, BY),
        spoils(LINEAR_4, ">", LEVEL, f"At T linear scaling by {BY} costs more than {LEVEL} nats"),
        spoils(NTK_4, "<=", LEVEL, f"At T NTK by {BY} costs at most {LEVEL} nats"),
        at(NTK_4, LINEAR_4, BY, f"At {BY}T NTK by {BY} is below linear scaling by {BY}"),
        at("rope-ntk-8", "rope-ntk-2", 8, "At 8T NTK by 8 is below NTK by 2"),
    ),
    claim(
        "PE-F9",
        below("Beyond T dynamic NTK is below dynamic linear scaling", DYNAMIC_NTK, DYNAMIC, least=BEYOND),
        below("Beyond T dynamic NTK is below RoPE", DYNAMIC_NTK, ROPE, least=BEYOND),
    ),
)
