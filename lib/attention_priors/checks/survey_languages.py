"""The survey's claims about perplexity beyond the training length, and the post's on relative positions (notebook 09).

Sentences are about losses in nats on the same tokens (see `bam_languages`). T is the training length; growth is the
loss above that at T; "beyond T" is the mean over the read lengths above T.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from attention_priors.checks.bam_languages import FAR, LEVEL, RECIPE
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Sentence, finding
from attention_priors.checks.reading_worlds import Rule, as_summed_up, printed, relative_is_enough, reverse, world
from attention_priors.checks.readings import READINGS, Readings, below, beyond, deciding, level, small
from attention_priors.experiments import properties

Frames = Mapping[str, pd.DataFrame]

ABSOLUTE = ("sinusoidal", "learned")
KERNELS = ("kerple-power", "kerple-log")
BIASES = ("t5", "alibi", *KERNELS, "sandwich")
ROTATIONS = ("rope", "rope-bias", "xpos")
GROUPS = ("rope", "rope-learned", "xpos", "group-damped", "group-defective")
NOPE, SIZED = "nope", (*ABSOLUTE, "alibi")  # of the figure on NoPE
BUCKETS, SINGLE, NEAR = "t5", "lag-table", 4  # "interpolating" lengths: up to four times
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


def claim_2(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    return [
        level(data, ("alibi",), f"ALiBi stays within {LEVEL} nats up to {FAR}×"),
        level(data, ("t5",), f"T5's biases stay within {LEVEL} nats up to {FAR}×"),
        beyond(data, "sinusoidal", LEVEL),
        beyond(data, "rope", LEVEL),
    ]


def claim_3(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    text = f"Every relative encoding stays within {LEVEL} nats up to {FAR}×"
    return [level(data, (*BIASES, *ROTATIONS), text), *(beyond(data, name, LEVEL) for name in ABSOLUTE)]


def claim_4(frames: Frames) -> list[Sentence]:
    return _less_than_absolute(frames, (*BIASES, *ROTATIONS), "Every encoding in the logits")


def post_18(frames: Frames) -> list[Sentence]:
    return _less_than_absolute(frames, (*GROUPS, "alibi"), "Every encoding that shows relative positions alone")


def _less_than_absolute(frames: Frames, names: tuple[str, ...], whose: str) -> list[Sentence]:
    """One sentence for each absolute encoding: all of these grow less."""
    data, made = Readings(frames[READINGS]), []
    for absolute in ABSOLUTE:
        cells = {}
        for name in data.there(names):
            lengths = data.lengths(name, absolute, least=1.001)
            cells[name, absolute] = data.gap(absolute, name, "growth", lengths)
        made.append(deciding(data, f"{whose} grows less beyond T than {absolute}", cells, ">", 0.0))
    return made


def claim_5(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    lengths = data.lengths(BUCKETS, SINGLE, least=1.001, most=NEAR)
    text = f"T5's buckets grow less up to {NEAR}× than one bias for each lag"
    return [below(data, BUCKETS, SINGLE, text, lengths, "growth")]


def kernels(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    return [level(data, KERNELS, f"KERPLE's kernels stay within {LEVEL} nats up to {FAR}×")]


def bias(frames: Frames) -> list[Sentence]:
    data = Readings(frames[READINGS])
    lengths = data.lengths("rope", "rope-bias", least=1.001)
    return [below(data, "rope-bias", "rope", "RoPE with bias grows less beyond T than RoPE", lengths, "growth")]


def figure_3(frames: Frames) -> list[Sentence]:
    """Press et al. 2022, Fig. 1, from the lowest curve to the highest: ALiBi, T5, rotary, sinusoidal."""
    data = Readings(frames[READINGS])
    made = [level(data, ("alibi",), f"ALiBi stays within {LEVEL} nats up to {FAR}×")]
    for lower, upper in (("alibi", "t5"), ("t5", "rope"), ("rope", "sinusoidal")):
        lengths = data.lengths(lower, upper, least=1.001)
        made.append(below(data, lower, upper, f"{lower} grows less beyond T than {upper}", lengths, "growth"))
    return made


def figure_6(frames: Frames) -> list[Sentence]:
    """Haviv et al. 2022: at every size NoPE is a little worse than learned, sinusoidal and ALiBi."""
    made = []
    for size, data in (("small", small(frames)), ("profile's", Readings(frames[READINGS]))):
        cells = {(NOPE, other): data.gap(NOPE, other, "loss", data.trained) for other in data.there(SIZED)}
        made.append(deciding(data, f"{size} size: NoPE has a higher loss at T than each other", cells, ">", 0.0))
        made.append(deciding(data, f"{size} size: by at most {LEVEL} nats", cells, "<=", LEVEL))
    return made


def structure(claimed: Mapping[str, tuple[bool, ...]]) -> Sentence:
    """How many of the entries about structure agree with tests on models (`experiments.properties`)."""
    found = properties.properties(claimed).set_index("encoding")[list(PROPERTIES)]
    cells = [(name, part) for name in claimed for part in PROPERTIES]
    wrong = [f"{part} of {name}" for name, part in cells
             if found.loc[name, part] != claimed[name][PROPERTIES.index(part)]]  # fmt: skip
    text = f"The tests for {', '.join(PROPERTIES)} give the table's entries"
    text += f" (not: {', '.join(wrong)})" if wrong else ""
    return Sentence(text, len(cells) - len(wrong), "=", len(cells), "disagrees" if wrong else "agrees")


def summary(frames: Frames) -> list[Sentence]:
    data, made = Readings(frames[READINGS]), [structure(SUMMARY)]
    for name, (*_, extrapolates) in SUMMARY.items():
        stays = f"{name} stays within {LEVEL} nats up to {FAR}×"
        made.append(level(data, (name,), stays) if extrapolates else beyond(data, name, LEVEL))
    return made


def property_table(frames: Frames) -> pd.DataFrame:
    """The survey's summary for every encoding that was trained, by tests: a row each, `survey` as it has it.

    `extrapolates`: the growth is within LEVEL at every length up to FAR times the training length (yes), certainly not
    (no), or cannot be told (open). `growth` [low, high] in nats is that at `length`, the longest.
    """
    data, rows = Readings(frames[READINGS]), []
    benchmark = frames[READINGS].query("part == 'benchmark'")
    for row in properties.properties(benchmark["encoding"].unique()).to_dict("records"):
        name = row["encoding"]
        outcome, length = level(data, (name,), name).outcome, data.lengths(name)[-1]
        at, claimed = data.of(name, "growth", length), SUMMARY.get(name)
        rows.append(row | {
            "growth": at.value, "low": at.low, "high": at.high, "length": length, "trained": data.trained,
            "extrapolates": {"agrees": "yes", "disagrees": "no"}.get(outcome, "open"),
            "survey": "".join("NY"[each] for each in claimed) if claimed else "",
            "seeds": len(data.seeds(name)),
        })  # fmt: skip
    return pd.DataFrame(rows)


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "PE-C2": claim_2,
    "PE-C3": claim_3,
    "PE-C4": claim_4,
    "PE-C5": claim_5,
    "PE-KERPLE-E": kernels,
    "PE-BIAS": bias,
    "PE-F3": figure_3,
    "PE-F6": figure_6,
    "PE-TAB": summary,
    "OPG-18": post_18,
}
EXCLUDED = "disagrees: one of these is excluded by its 95 % interval over seeds"


def check(
    identifier: str,
    read: Callable[[Frames], list[Sentence]],
    opposite: str,
    holds: Rule = printed,
    others: tuple[str, ...] = (),
) -> EmpiricalCheck:
    """A claim of notebook 09 that reads language_readings and `others`; `holds`: a world in which it agrees."""

    def verdict(frames: Frames):
        return finding(read(frames))

    def flip(frames: Frames) -> Frames:
        return world(frames, holds if verdict(frames).outcome == "disagrees" else reverse)

    words = f"agrees: {opposite}; {EXCLUDED}"
    return EmpiricalCheck(identifier, (READINGS, *others), RECIPE, verdict, words, flip)


GROWTH = f"growth is the loss above that at the training length T, on the same tokens, at lengths up to {FAR} T"
OPPOSITES = {
    "PE-C2": f"the growth of ALiBi and T5 is at most {LEVEL} nats at every length, that of Sinusoidal and RoPE more at "
    f"the longest ({GROWTH})",
    "PE-C3": f"the growth of every relative encoding (additive or by rotation) is at most {LEVEL} nats at every "
    f"length, that of Sinusoidal and of learned positions more at the longest ({GROWTH})",
    "PE-C4": "beyond T every encoding in the logits (additive or by rotation) grows less than Sinusoidal and less than "
    f"learned positions ({GROWTH})",
    "PE-C5": f"up to {NEAR} T T5's buckets grow less than a table with a bias for each lag",
    "PE-KERPLE-E": f"the growth of KERPLE's kernels is at most {LEVEL} nats at every length ({GROWTH})",
    "PE-BIAS": f"beyond T RoPE with bias grows less than RoPE ({GROWTH})",
    "PE-F3": f"the growth of ALiBi is at most {LEVEL} nats at every length, and beyond T the encodings grow in the "
    f"order ALiBi, T5, RoPE, Sinusoidal ({GROWTH})",
    "PE-F6": "at both sizes NoPE's loss at T is above those of learned, Sinusoidal and ALiBi, by at most "
    f"{LEVEL} nats each",
    "PE-TAB": f"the tests give all {len(SUMMARY) * len(PROPERTIES)} entries on structure; the growth of T5, ALiBi, "
    f"KERPLE (log), Sandwich and xPos is at most {LEVEL} nats at every length, that of Sinusoidal and RoPE more at the "
    f"longest ({GROWTH})",
    "OPG-18": "beyond T every encoding that shows relative positions alone (RoPE, learned one-parameter groups, ALiBi) "
    f"grows less than Sinusoidal and less than learned positions ({GROWTH})",
}
WORLDS = {"PE-C3": relative_is_enough, "PE-TAB": as_summed_up}
CHECKS = {name: check(name, read, OPPOSITES[name], WORLDS.get(name, printed)) for name, read in SENTENCES.items()}
