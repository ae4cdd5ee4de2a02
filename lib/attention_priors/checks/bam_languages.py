"""BAM's claims about perplexity, judged on the metrics of notebook 09 (scaled reproductions).

The number behind every sentence is a loss in nats on the same scored tokens: its growth from the training length to a
longer context, or a difference between encodings. e^0.1 is 10 % more perplexity, e^0.5 is 65 %. Nothing is judged about
a model that has not learned to use its context at the training length: it has nothing to lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from attention_priors import evaluation
from attention_priors.checks.bam_passkeys import BY_LENGTH, NEAR_CHANCE, Accuracies
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import Estimate, Sentence, difference, finding, joined, judge, sentence

RECIPE = "paper"
PERPLEXITY, LOSSES = "language_perplexity", "language_losses"
FIRST, SECOND = True, False  # the domain of training stands for FineWeb, another one for Wikipedia
LEVEL, DIVERGES = 0.1, 0.5  # nats more than at the training length: level up to the one, diverging beyond the other
CLOSE = 0.05  # nats between encodings that count as alike (Table 2: at most 0.03 without NoPE)
LEARNED = 0.5  # nats below a unigram model at the training length
LOCAL = 0.01  # nats by which a model that reads nearby tokens alone may move when it is given more text
FAR = 64  # multiples of the training length, as in Figs. 6 and 7
BASES = ("nope", "sinusoidal", "rope", "rope-local", "alibi", "bam")
STABLE, UNSTABLE = ("alibi", "rope-local", "bam"), ("sinusoidal", "rope", "nope")

Frames = Mapping[str, pd.DataFrame]


def mean(values: Iterable[float]) -> Estimate:
    """The mean over seeds with its t interval."""
    values = np.asarray(list(values), dtype=float)
    return Estimate(float(values.mean()) if len(values) else math.nan, *evaluation.seed_interval(values))


class Losses:
    """language_perplexity in the domain of training or in another one (in the same, where a corpus has no other)."""

    def __init__(self, frame: pd.DataFrame, trained_on: bool) -> None:
        rows = frame[frame["trained_on"] == trained_on]
        self.rows = rows if len(rows) else frame
        self.domain = str(self.rows["domain"].iloc[0])
        self.trained = int(frame["trained"].iloc[0])
        self.longer = sorted(int(length) for length in set(frame["length"]) if length > self.trained)
        self.far = bool(self.longer) and self.longer[-1] >= FAR * self.trained

    def of(self, name: str, column: str, lengths: int | Sequence[int]) -> Estimate:
        """A column at one length, or its mean over several."""
        wanted = [lengths] if isinstance(lengths, int) else list(lengths)
        rows = self.rows[(self.rows["encoding"] == name) & self.rows["length"].isin(wanted)]
        return mean(rows.groupby("seed")[column].mean())

    def seeds(self, *names: str) -> tuple[int, ...]:
        return tuple(sorted({int(seed) for seed in self.rows[self.rows["encoding"].isin(names)]["seed"]}))

    def learned(self, *names: str) -> bool:
        """Every seed is `LEARNED` nats better than a model that knows the frequencies of tokens alone."""
        rows = self.rows[self.rows["encoding"].isin(names) & (self.rows["length"] == self.trained)]
        return len(rows) > 0 and bool((rows["loss"] <= np.log(rows["unigram"]) - LEARNED).all())

    def says(
        self, text: str, names: Sequence[str], found: Estimate, relation: str, bound: float, open_=False
    ) -> Sentence:
        """The sentence `found relation bound` about some encodings; `open_`: what was tested cannot decide it."""
        known = self.learned(*names) and not open_
        outcome = judge(found, relation, bound) if known else "undecided"
        return sentence(f"{text} ({self.domain})", found, relation, bound, outcome, self.seeds(*names))


def stays(data: Losses, name: str, bound: float) -> Sentence:
    """Growth at every length above the training length; reported is the one that decides."""
    cells = {length: data.of(name, "growth", length) for length in data.longer}
    outcomes = {length: judge(found, "<=", bound) for length, found in cells.items()}
    outcome = joined(outcomes.values())
    deciding = [length for length in cells if outcomes[length] == outcome]
    length = max(deciding, key=lambda at: cells[at].value)
    text = f"{name} stays within {bound} nats up to {FAR}×, deciding {length / data.trained:.3g}×"
    return data.says(text, (name,), cells[length], "<=", bound, open_=outcome == "agrees" and not data.far)


def breaks(data: Losses, name: str) -> Sentence:
    """Growth at the longest length."""
    found = data.of(name, "growth", data.longer[-1])
    early = not data.far and judge(found, ">", DIVERGES) == "disagrees"
    text = f"{name} grows by more than {DIVERGES} nats at {data.longer[-1] / data.trained:.3g}×"
    return data.says(text, (name,), found, ">", DIVERGES, open_=early)


def gain(data: Losses, base: str) -> Estimate:
    """How many nats SSMax lowers the loss of an encoding, mean over the lengths above the training length."""
    return difference(data.of(base, "loss", data.longer), data.of(f"{base}-ssmax", "loss", data.longer))


def figure_6(frames: Frames) -> list[Sentence]:
    data = Losses(frames[PERPLEXITY], FIRST)
    return [stays(data, name, LEVEL) for name in STABLE] + [breaks(data, name) for name in UNSTABLE]


def figure_7(frames: Frames) -> list[Sentence]:
    data = Losses(frames[PERPLEXITY], SECOND)
    levels = [stays(data, name, LEVEL) for name in STABLE] + [breaks(data, name) for name in UNSTABLE]
    gains = {base: gain(data, base) for base in BASES}
    best = max((base for base in BASES if base != "bam"), key=lambda base: gains[base].value)
    names = ("bam", "bam-ssmax", best, f"{best}-ssmax")
    lead = difference(gains["bam"], gains[best])
    return [
        *levels,
        data.says("SSMax lowers the loss of BAM beyond the training length", names[:2], gains["bam"], ">", 0.0),
        data.says(f"It lowers BAM's more than that of any other encoding (deciding: {best})", names, lead, ">", 0.0),
    ]


def claim_18(frames: Frames) -> list[Sentence]:
    """Growth below `DIVERGES` at every length is sub-linear growth of the perplexity at every multiple: e^0.5 < 2."""
    both = [Losses(frames[PERPLEXITY], domain) for domain in (FIRST, SECOND)]
    stable = [stays(data, name, DIVERGES) for data in both for name in (*STABLE, "bam-ssmax")]
    return stable + [breaks(data, name) for data in both for name in UNSTABLE]


def claim_7(frames: Frames) -> list[Sentence]:
    data, answers = Losses(frames[PERPLEXITY], FIRST), Accuracies(frames[BY_LENGTH])
    far, pair = data.longer[-1], ("rope-local", "alibi")
    gap = difference(*(data.of(name, "loss", far) for name in pair))
    text = f"RoPE Local is no worse than ALiBi at {far / data.trained:.3g}×, within {LEVEL} nats"
    sentences = [stays(data, "alibi", LEVEL), data.says(text, pair, gap, "<=", LEVEL)]
    for name in ("alibi", "rope-local"):
        length = max(answers.lengths(name))
        found = answers.at(name, length)
        outcome = judge(found, "<=", NEAR_CHANCE) if answers.learned(name) else "undecided"
        text = f"{name} fails to retrieve a passkey at {length / answers.trained:.3g}×"
        sentences.append(sentence(text, found, "<=", NEAR_CHANCE, outcome, answers.seeds(name)))
    return sentences


def claim_23(frames: Frames) -> list[Sentence]:
    data, pair = Losses(frames[PERPLEXITY], FIRST), ("alibi", "bam")
    edge = difference(*(data.of(name, "loss", data.trained) for name in pair))
    moves = {name: moved(frames[LOSSES], name, data) for name in pair}
    more = difference(moves["bam"], moves["alibi"])
    return [
        data.says("ALiBi has a lower loss than BAM at the training length", pair, edge, "<", 0.0),
        data.says(f"More text moves ALiBi's loss on a document by less than {LOCAL} nats", ("alibi",), moves["alibi"],
                  "<", LOCAL),
        data.says("It moves BAM's more than ALiBi's", pair, more, ">", 0.0),
    ]  # fmt: skip


def moved(frame: pd.DataFrame, name: str, data: Losses) -> Estimate:
    """Mean |loss given more text - loss at the training length| over documents and longer lengths."""
    rows = frame[(frame["encoding"] == name) & (frame["domain"] == data.domain)]
    wide = rows.pivot(index=["seed", "document"], columns="length", values="loss")
    change = wide[data.longer].sub(wide[data.trained], axis=0).abs().mean(axis=1)
    return mean(change.groupby("seed").mean())


def table_2(frames: Frames) -> list[Sentence]:
    sentences = []
    for data in (Losses(frames[PERPLEXITY], domain) for domain in (FIRST, SECOND)):
        at = {name: data.of(name, "loss", data.trained) for name in BASES if name != "rope-local"}
        others = sorted((name for name in at if name != "nope"), key=lambda name: at[name].value)
        worse, spread = difference(at["nope"], at[others[-1]]), difference(at[others[-1]], at[others[0]])
        text = f"NoPE has the highest loss at the training length, above {others[-1]}"
        sentences.append(data.says(text, ("nope", others[-1]), worse, ">", 0.0))
        text = f"The other four lie within {CLOSE} nats ({others[0]} to {others[-1]})"
        sentences.append(data.says(text, others, spread, "<=", CLOSE))
    return sentences


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-TAB2": table_2,
    "BAM-F6": figure_6,
    "BAM-F7": figure_7,
    "BAM-C7": claim_7,
    "BAM-C18": claim_18,
    "BAM-C23": claim_23,
}


# Worlds in which a claim holds or fails: the test of its judge

Rule = Callable[[str, float], float]  # (encoding, length / training length) -> loss above the best


def as_printed(name: str, multiple: float) -> float:
    """Local priors are level, the rest grows, SSMax serves BAM alone, NoPE is worst, BAM is moved by distant text."""
    base = name.removesuffix("-ssmax")
    start = {"nope": 0.2, "alibi": 0.0, "bam": 0.03}.get(base, 0.02)
    growth = 0.3 * math.log2(multiple) if base in UNSTABLE else 0.0
    return start + growth + 0.02 * (base == "bam" and multiple > 1) - 0.01 * (name == "bam-ssmax")


def reversed_(name: str, multiple: float) -> float:
    """ALiBi, BAM and the window break, the others are level and NoPE the best."""
    base = name.removesuffix("-ssmax")
    start = {"nope": 0.0, "alibi": 0.3}.get(base, 0.2)
    return start + (0.3 * math.log2(multiple) if base in STABLE else 0.0) + 0.1 * (name == "bam-ssmax")


def world(frames: Frames, rule: Rule) -> Frames:
    """The same models with other losses; passkeys are left as they are."""
    changed = dict(frames)
    for metric in (PERPLEXITY, LOSSES):
        if metric not in frames:
            continue
        frame = frames[metric].copy()
        start = math.log(frames[PERPLEXITY]["unigram"].min()) - 4 * LEARNED
        excess = [rule(r.encoding, r.length / r.trained) for r in frame.itertuples()]
        frame["loss"] = start + np.array(excess)
        if metric == PERPLEXITY:
            frame["growth"] = excess - np.array([rule(name, 1.0) for name in frame["encoding"]])
            frame["perplexity"] = np.exp(frame["loss"])
        changed[metric] = frame
    return changed


def _check(identifier: str, opposite: str, metrics: tuple[str, ...] = (PERPLEXITY,)):
    def verdict(frames: Frames):
        return finding(SENTENCES[identifier](frames))

    def flip(frames: Frames) -> Frames:
        return world(frames, as_printed if verdict(frames).outcome == "disagrees" else reversed_)

    return EmpiricalCheck(identifier, metrics, RECIPE, verdict, opposite, flip)


EXCLUDED = "disagrees: one of these is excluded by its 95 % interval over seeds"
FIGURE = (
    f"without SSMax the loss of ALiBi, RoPE Local and BAM grows by at most {LEVEL} nats at every length up to {FAR} "
    f"times the training length, and that of Sinusoidal, RoPE and NoPE by more than {DIVERGES} at the longest"
)
CHECKS = {
    check.id: check
    for check in (
        _check(
            "BAM-TAB2",
            "agrees: in both domains, at the training length and without SSMax, NoPE has the highest loss and the "
            f"other four lie within {CLOSE} nats; {EXCLUDED}",
        ),
        _check("BAM-F6", f"agrees: {FIGURE}; {EXCLUDED}"),
        _check(
            "BAM-F7",
            f"agrees: {FIGURE}, and beyond the training length SSMax lowers BAM's mean loss, by more than any other "
            f"encoding's; {EXCLUDED}",
        ),
        _check(
            "BAM-C7",
            f"agrees: the loss of ALiBi grows by at most {LEVEL} nats up to {FAR} times the training length, RoPE "
            f"Local is no more than {LEVEL} nats worse there, and both retrieve at most {NEAR_CHANCE} of the passkeys "
            f"at the longest length; {EXCLUDED}",
            (PERPLEXITY, BY_LENGTH),
        ),
        _check(
            "BAM-C18",
            f"agrees: in both domains the loss of ALiBi, RoPE Local, BAM and BAM SSMax grows by at most {DIVERGES} "
            f"nats at every length up to {FAR} times the training length and that of Sinusoidal, RoPE and NoPE by more "
            f"at the longest; {EXCLUDED}",
        ),
        _check(
            "BAM-C23",
            "agrees: ALiBi has the lower loss at the training length, more text moves its loss on a document by less "
            f"than {LOCAL} nats and BAM's by more than ALiBi's; {EXCLUDED}",
            (PERPLEXITY, LOSSES),
        ),
    )
}
