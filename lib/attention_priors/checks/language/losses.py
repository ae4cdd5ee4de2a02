"""Losses of the language models that know word order, as findings read them.

All are in nats on the same scored tokens. T is the training length, growth the loss above that at T: 0.1 nats are 10 %
more perplexity, 0.5 are 65 %. A model that misses its gate (exchanging two neighbours costs it too little) decides
nothing: it is left out, and the note of the sentence names it. So is an arm that the profile has not trained or not
read at a length. Two encodings are compared within seeds: a seed is the same text in the same order to all, and for
extensions the same weights.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from attention_priors.checks.passkey.runs import lacking
from attention_priors.claims.finding import ANY, Estimate, Finding, Frames, largest, mean, smallest, unknown
from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, LONGER, SMALL, TUNED
from attention_priors.positions.encodings import encoding

PERPLEXITY, LOSSES, READINGS, FADING = "language_perplexity", "language_losses", "language_readings", "language_fading"
RECIPE = "language-small"
QUARTER = 4
T5, PLAIN_T5 = "t5-quarter", "t5"  # the last bucket begins at lag 32, at lag 128
LEVEL, DIVERGES = 0.1, 0.5  # nats more than at T: level up to the one, diverging beyond the other
CLOSE = 0.05  # nats between encodings that count as alike (BAM's Table 2: at most 0.03 without NoPE)
FAR = 64  # multiples of T, as in BAM's Figs. 6 and 7
BEYOND = 1.001  # least multiple of T for "beyond T"
AGAIN = "+"  # ends the name of what was trained further

Read = Callable[[Frames], "Losses"]


class Losses:
    """Rows with `encoding`, `seed`, `length`, `trained`, `passed`, and `loss` or `growth`.

    Where an encoding has several models by `times` (as many tokens as the others), the one with the fewest that passed.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.trained = int(frame["trained"].min()) if len(frame) else 1  # of nothing, any will do
        self.rows = frame[frame["passed"].astype(bool)]
        if "times" in frame:
            self.rows = self.rows[self.rows["times"] == self.rows.groupby("encoding")["times"].transform("min")]
        # Sentences ask for the same few encodings at every length.
        self.of, self._seeds = functools.cache(self._of), functools.cache(self._seeds_of)

    def why(self, *names: str) -> str:
        """Why some of these do not decide: not in the profile, or their gate missed, with the seeds."""
        return lacking({label(name): self._seeds(name) for name in names})

    def _of(self, name: str) -> pd.DataFrame:
        return self.rows[self.rows["encoding"] == name]

    def _seeds_of(self, name: str) -> tuple[set[int], set[int]]:
        """The seeds of an encoding, and those that passed."""
        return set(self.frame[self.frame["encoding"] == name]["seed"]), set(self.of(name)["seed"])

    def _times(self, name: str) -> int:
        """With how many times the others' tokens its models passed."""
        return int(self.of(name)["times"].max()) if "times" in self.rows and len(self.of(name)) else 1

    def lengths(self, *names: str, least: float = 0.0, most: float = math.inf) -> list[int]:
        """Lengths at which all of these were read, between `least` and `most` times T."""
        read = [set(self.of(name)["length"]) for name in names]
        return sorted(int(n) for n in set.intersection(*read) if least <= n / self.trained <= most)

    def by_seed(self, name: str, column: str, lengths: Iterable[int]) -> pd.Series:
        """The mean of a column over some lengths, of the seeds that were read at all of them.

        ValueError for a model that was read twice at a length.
        """
        lengths, own, read = sorted(set(lengths)), self.of(name), {}
        for seed, length, value in zip(own["seed"].tolist(), own["length"].tolist(), own[column].tolist(), strict=True):
            row = read.setdefault(seed, {})
            if length in row:
                raise ValueError(f"{name}, seed {seed}, was read twice at {length} tokens; keep one of the rows")
            row[length] = value
        if not lengths:
            return pd.Series(dtype=float)
        means = {seed: np.mean([row.get(length, np.nan) for length in lengths]) for seed, row in sorted(read.items())}
        return pd.Series(means, dtype=float).dropna()

    def at(self, name: str, column: str, lengths: int | Iterable[int], within: tuple[float, float] = ANY) -> Estimate:
        """A column, whose values lie `within` two ends, at one length, or its mean over several."""
        lengths = [lengths] if isinstance(lengths, int) else list(lengths)
        return self._told(self.by_seed(name, column, lengths), lengths, name, within=within)

    def gap(self, first: str, second: str, column: str, lengths: int | Iterable[int]) -> Estimate:
        """A column of the first less that of the second, mean over lengths; losses of equal tokens alone compare."""
        lengths = [lengths] if isinstance(lengths, int) else list(lengths)
        if "times" in self.rows:
            one, other = (set(self.of(name)["times"]) for name in (first, second))
            if one and other and one != other:
                more = first if max(one) > max(other) else second
                return unknown(f"{label(more)} passed its gate with more tokens alone; losses of equal tokens compare")
        found = (self.by_seed(name, column, lengths) for name in (first, second))
        return self._told((next(found) - next(found)).dropna(), lengths, first, second)

    def grows(self, name: str, times: float = FAR) -> Estimate:
        """The largest growth at any length beyond T up to `times` T; unknown above where that was not read."""
        lengths = {*self.lengths(name, least=BEYOND, most=times), round(times * self.trained)}
        return largest({f"{n / self.trained:.3g}T": self.at(name, "growth", n) for n in sorted(lengths)})

    def end(self, name: str, times: float = FAR) -> Estimate:
        """The growth at `times` T; where only less was read, that at the longest, and it may be larger."""
        read = self.lengths(name, most=times)
        if not read or (found := self.at(name, "growth", read[-1])).value != found.value:
            return unknown(self.why(name) or f"{label(name)} not read")
        if read[-1] >= times * self.trained:
            return found
        note = f"read up to {read[-1] / self.trained:.3g}T"
        return Estimate(found.value, lambda level: (found.interval(level)[0], math.inf), found.seeds, note)

    def _told(
        self, values: pd.Series, lengths: Sequence[int], *names: str, within: tuple[float, float] = ANY
    ) -> Estimate:
        if len(values):
            found = mean(values.to_dict(), within)
            more = [f"{label(name)} at {times} × tokens" for name in names if (times := self._times(name)) > 1]
            return replace(found, note="; ".join(filter(None, [self.why(*names), *more])))
        where = ", ".join(f"{n / self.trained:.3g}T" for n in lengths) or "any common length"
        return unknown(self.why(*names) or f"{', '.join(map(label, names))} not read at {where}")


def first_domain(frames: Frames) -> Losses:
    """Text of the kind trained on, which stands for FineWeb."""
    return _domain(frames, True)


def second_domain(frames: Frames) -> Losses:
    """Text of another kind, which stands for Wikipedia (the same text, where a corpus has no other)."""
    return _domain(frames, False)


def _domain(frames: Frames, known: bool) -> Losses:
    frame = frames[PERPLEXITY]
    rows = frame[frame["trained_on"].astype(bool) == known]
    return Losses(rows if len(rows) else frame)


def readings(frames: Frames, parts: Sequence[str] = (BENCHMARK, EXTENSIONS, TUNED)) -> Losses:
    """Some parts of language_readings, on text of the kind trained on; what was tuned has names that end in +.

    T5 is the row whose last bucket begins at T / 4, as its authors have it: at T = 128 that to lag 32, at T = 512 the
    plain one.
    """
    frame = frames[READINGS]
    frame = frame[frame["part"].isin(parts)]
    names = frame["encoding"].where(frame["part"] != TUNED, frame["encoding"] + AGAIN)
    names = names.mask((names == PLAIN_T5) & (frame["trained"] == QUARTER * 128), T5)
    return Losses(frame.assign(encoding=names))


def small(frames: Frames) -> Losses:
    """The models of the second size."""
    return readings(frames, (SMALL,))


def longer(frames: Frames) -> Losses:
    """The models trained on twice the length; of a profile without them nothing."""
    return readings(frames, (LONGER,))


def label(name: str) -> str:
    """An encoding in a sentence."""
    if name == T5:
        return "T5 buckets to T/4"
    return encoding(name.removesuffix(AGAIN)).label + " trained further" * name.endswith(AGAIN)


# Sentences that several claims share. `read`: which losses; `metrics`: the frames behind them.


def finding(
    text: str, estimate: Callable[[Losses], Estimate], relation: str, bound: float, read: Read = readings, **more
) -> Finding:
    """A sentence about the losses that `read` gives."""
    metrics = (PERPLEXITY if read in (first_domain, second_domain) else READINGS,)
    kind = ", text of another kind" if read is second_domain else ""
    return Finding(text + kind, lambda frames: estimate(read(frames)), relation, bound, metrics=metrics, **more)


def stays(name: str, bound: float = LEVEL, times: float = FAR, read: Read = readings) -> Finding:
    """Level at every length."""
    text = f"The loss of {label(name)} grows by at most {bound} nats at every length up to {times:.3g}T"
    return finding(
        text,
        lambda data: data.grows(name, times),
        "<=",
        bound,
        read,
        ours=True,
    )


def breaks(name: str, bound: float = LEVEL, times: float = FAR, read: Read = readings) -> Finding:
    """Not level in the end."""
    text = f"The loss of {label(name)} grows by more than {bound} nats at {times:.3g}T"
    return finding(text, lambda data: data.end(name, times), ">", bound, read, ours=True)


def below(
    text: str, lower: str, upper: str | Sequence[str], column: str = "loss", read: Read = readings, **where: float
) -> Finding:
    """How far `lower` lies below `upper`, or the nearest of several, in the mean over the lengths of `lengths`."""
    others = (upper,) if isinstance(upper, str) else upper

    def estimate(data: Losses) -> Estimate:
        return smallest(
            {label(other): data.gap(other, lower, column, data.lengths(lower, other, **where)) for other in others}
        )

    return finding(text, estimate, ">", 0.0, read)
