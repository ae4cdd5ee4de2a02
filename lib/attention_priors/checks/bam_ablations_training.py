"""BAM's claims about training lengths, model sizes and context extension, judged on ablations (notebook 10).

Multiples are of the shortest training length T unless said. Accuracies are judged as in `bam_passkeys`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from attention_priors.checks.ablation_worlds import EXTENDED, TRAINING, Frames, Study, leads
from attention_priors.checks.bam_ablations import EXCLUDED, check
from attention_priors.checks.bam_passkeys import LONG, MARGIN, PERFECT, worst
from attention_priors.checks.intervals import Estimate, Sentence, difference, joined, judge, sentence
from attention_priors.checks.passkey_worlds import HIGH

ONE, TWO, FOUR = (f"bam-ssmax-{multiple}T" for multiple in (1, 2, 4))
COMPETITIVE = 0.2  # of mean accuracy: how far behind is still competitive
LARGEST = 0.7  # Table 5: the largest model after its extension
NEAR, MIDDLE, END = 32, 293, 500  # Fig. 11: 32 x 1024 tokens, 300,000 and 512,000
COMMON = "in mean accuracy above all training lengths"


def figure_11(frames: Frames) -> list[Sentence]:
    data = Study(frames[TRAINING], "length")
    lengths = data.lengths(TWO, beyond=False)

    def at(text: str, chosen: list[int], relation: str, bound: float, enough: bool) -> Sentence:
        cells = {(TWO, length): data.at(TWO, length) for length in chosen}
        return worst(f"BAM SSMax, trained on 2T, {text}", data, cells, relation, bound, enough)

    multiple = {length: length / (2 * data.trained) for length in lengths}
    longest = max(multiple.values(), default=0)
    near = [length for length in lengths if multiple[length] <= NEAR]
    middle = [length for length in lengths if NEAR < multiple[length] <= MIDDLE]
    end = [length for length in lengths if multiple[length] >= END]
    return [
        at(f"is perfect up to {NEAR} times that", near, ">=", PERFECT, NEAR in multiple.values()),
        at(f"stays above {HIGH} up to {MIDDLE} times that", middle, ">", HIGH, longest >= MIDDLE),
        at(f"is above zero at {END} times that", end[:1], ">", 0.0, bool(end)),
    ]


def figure_12(frames: Frames) -> list[Sentence]:
    data = Study(frames[TRAINING], "length")
    absent = data.missing(ONE, TWO, FOUR)
    lengths = data.beyond(*(name for name in (ONE, TWO, FOUR) if name not in absent))
    return [
        leads(data, [FOUR], [ONE], f"Trained on 4T, BAM SSMax leads the one trained on T {COMMON}", lengths),
        leads(data, [TWO], [ONE], f"Trained on 2T, it leads the one trained on T {COMMON}", lengths),
        competitive(data, lengths),
    ]


def competitive(data: Study, lengths: list[int]) -> Sentence:
    """How far the arm trained on T is behind the better of the others, in the mean over the lengths up to 64T."""
    text = f"Trained on T, it is at most {COMPETITIVE} behind the others in mean accuracy up to {LONG}T"
    if gone := data.missing(ONE, TWO, FOUR):
        return Sentence(f"{text} (not trained: {', '.join(gone)})", math.nan, "<=", COMPETITIVE, "undecided")
    chosen = [length for length in lengths if length <= LONG * data.trained]
    gaps = {name: difference(data.at(name, chosen), data.at(ONE, chosen)) for name in (TWO, FOUR)}
    known = {
        name: data.trusted(judge(gap, "<=", COMPETITIVE), "<=", plus=[name], minus=[ONE]) for name, gap in gaps.items()
    }
    outcome = joined(known.values())
    if outcome == "agrees" and LONG * data.trained not in chosen:
        outcome = "undecided"
    name = max((each for each in gaps if known[each] == outcome or outcome == "undecided"), key=lambda n: gaps[n].high)
    text = f"{text} (deciding: {name})"
    return sentence(text, gaps[name], "<=", COMPETITIVE, outcome, data.seeds(ONE, name))


def sizes(data: Study) -> list[str]:
    """The arms before their extension, the smallest first."""
    parameters = data.rows.groupby("encoding")["parameters"].first().sort_values()
    return [name for name in parameters.index if not name.endswith(EXTENDED)]


def table_5(frames: Frames) -> list[Sentence]:
    data = Study(frames[TRAINING], "size")
    small, *others, large = sizes(data)
    lengths = data.lengths(small, beyond=False)
    tested = max(lengths) >= LONG * data.trained
    before = {(small, length): data.at(small, length) for length in lengths if length <= LONG * data.trained}
    after = {}
    for bound, names in ((PERFECT, [small, *others]), (LARGEST, [large])):
        each = [f"{name}{EXTENDED}" for name in names]
        after[bound] = {(name, length): data.at(name, length) for name in each for length in lengths}
    return [
        worst(f"The smallest keeps {HIGH} up to {LONG}T", data, before, ">=", HIGH, LONG * data.trained in lengths),
        leads(data, [small], [large], "At the longest length it leads the largest", lengths[-1:]),
        worst("Extended, all but the largest are perfect at every length", data, after[PERFECT], ">=", PERFECT, tested),
        worst(f"Extended, the largest keeps {LARGEST} at every length", data, after[LARGEST], ">=", LARGEST, tested),
    ]


def claim_14(frames: Frames) -> list[Sentence]:
    data = Study(frames[TRAINING], "size")
    names = sizes(data)
    lengths = data.beyond(*names, *(f"{name}{EXTENDED}" for name in names))
    after = {name: data.at(f"{name}{EXTENDED}", lengths) for name in names}
    gains = {name: difference(after[name], data.at(name, lengths)) for name in names}
    return [
        leads(data, names[:1], names[-1:], f"The larger, the worse: the smallest leads the largest {COMMON}", lengths),
        restored(data, after),
        profits(data, gains),
    ]


def restored(data: Study, after: Mapping[str, Estimate]) -> Sentence:
    """The size with the lowest mean accuracy after its extension, of those that decide."""
    known = {
        name: data.trusted(judge(found, ">=", HIGH), ">=", plus=[f"{name}{EXTENDED}"]) for name, found in after.items()
    }
    outcome = joined(known.values())
    name = min((each for each in after if known[each] == outcome), key=lambda each: after[each].value)
    text = f"The extension restores every size: at least {HIGH} {COMMON} (deciding: {name})"
    return sentence(text, after[name], ">=", HIGH, outcome, data.seeds(f"{name}{EXTENDED}"))


def profits(data: Study, gains: Mapping[str, Estimate]) -> Sentence:
    """The smallest lead of the largest model's gain over that of another size."""
    *others, large = gains
    leads_by = {name: difference(gains[large], gains[name]) for name in others}
    known = {
        name: data.trusted(judge(lead, ">", 0.0, MARGIN), ">", plus=[f"{large}{EXTENDED}", name],
                           minus=[large, f"{name}{EXTENDED}"])
        for name, lead in leads_by.items()
    }  # fmt: skip
    outcome = joined(known.values())
    name = min((each for each in others if known[each] == outcome), key=lambda each: leads_by[each].value)
    text = f"The largest gains most {COMMON} (deciding: {large} and {name})"
    return sentence(text, leads_by[name], ">", 0.0, outcome, data.seeds(large, name))


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-F11": figure_11,
    "BAM-F12": figure_12,
    "BAM-TAB5": table_5,
    "BAM-C14": claim_14,
}


CHECKS = {
    identifier: check(identifier, (TRAINING,), f"agrees: {agrees}; {EXCLUDED}", SENTENCES[identifier])
    for identifier, agrees in (
        (
            "BAM-F11",
            f"trained on twice the shortest length, BAM SSMax has at least {PERFECT} at every length up to {NEAR} "
            f"times that, more than {HIGH} up to {MIDDLE} times and more than 0 at {END} times",
        ),
        (
            "BAM-F12",
            "BAM SSMax trained on 4T and on 2T leads the one trained on T in mean accuracy above 4T, and that one is "
            f"at most {COMPETITIVE} behind them in the mean up to {LONG}T",
        ),
        (
            "BAM-TAB5",
            f"before the extension the smallest model keeps {HIGH} up to {LONG}T and leads the largest at the longest "
            f"length; after it the largest has at least {LARGEST} and the others {PERFECT} at every length",
        ),
        (
            "BAM-C14",
            "before the extension the smallest model leads the largest in mean accuracy above 2T, after it every size "
            f"has {HIGH} there, and the largest gains most",
        ),
    )
}
