"""The losses of notebook 09's benchmark as sentences about encodings, extensions and what was trained further."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from attention_priors.checks.bam_languages import FAR, LEVEL, Losses, mean
from attention_priors.checks.intervals import Estimate, Sentence, joined, judge, sentence
from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, LONGER, SMALL, TUNED
from attention_priors.positions.encodings import encoding

READINGS, ORDER, FADING = "language_readings", "language_order", "language_fading"
AGAIN = "+"  # ends the name of what was trained further


class Readings(Losses):
    """Some parts of language_readings, on text of the kind trained on; tuned ones have names that end in +."""

    def __init__(self, frame: pd.DataFrame, parts: Sequence[str] = (BENCHMARK, EXTENSIONS, TUNED)) -> None:
        rows = frame[frame["part"].isin(parts)]
        again = rows["part"] == TUNED
        self.tuned_at = int(rows[again]["trained"].max()) if again.any() else 0
        names = rows["encoding"].where(~again, rows["encoding"] + AGAIN)
        super().__init__(rows.assign(encoding=names, trained=rows["trained"].min(), trained_on=True), True)

    def learned(self, *names: str) -> bool:
        """`Losses.learned` of the models whose weights are read, as they were trained."""
        there = set(self.rows["encoding"])
        owners = []
        for name in names:
            owner = encoding(name.removesuffix(AGAIN)).trained_as
            owners.append(owner if owner in there else name.removesuffix(AGAIN))
        return all(super(Readings, self).learned(owner) for owner in owners)

    def there(self, names: Iterable[str]) -> list[str]:
        """Those that the profile has."""
        known = set(self.rows["encoding"])
        return [name for name in names if name in known]

    def lengths(self, *names: str, most: float = math.inf, least: float = 1.0) -> list[int]:
        """Lengths at which all of these were read, between `least` and `most` times the training length."""
        read = [set(self.rows[self.rows["encoding"] == name]["length"]) for name in names]
        common = sorted(set.intersection(*read)) if read else []
        return [int(length) for length in common if least <= length / self.trained <= most]

    def gap(self, first: str, second: str, column: str, lengths: int | Sequence[int]) -> Estimate:
        """A column of the first less that of the second, mean over lengths, taken within each seed.

        A seed is the same text in the same order to all, and for extensions the same weights.
        """
        wanted = [lengths] if isinstance(lengths, int) else list(lengths)
        rows = self.rows[self.rows["length"].isin(wanted)]
        one, other = (rows[rows["encoding"] == name].groupby("seed")[column].mean() for name in (first, second))
        return mean((one - other).dropna())


def deciding(
    data: Readings, text: str, cells: Mapping[tuple[str, ...], Estimate], relation: str, bound: float, open_=False
) -> Sentence:
    """`relation bound` of every cell (names, the last may be a length): reported is the one that decides.

    `open_`: what was tested cannot show that all of them hold.
    """
    if not cells:
        return Sentence(f"{text} (none in this profile)", math.nan, relation, bound, "undecided")
    outcomes = {}
    for key, found in cells.items():
        names = [part for part in key if not part.endswith("×")]
        outcomes[key] = judge(found, relation, bound) if data.learned(*names) else "undecided"
    outcome = joined(outcomes.values())
    sign = -1 if relation in (">", ">=") else 1
    key = max((key for key in cells if outcomes[key] == outcome), key=lambda key: _height(cells[key], sign))
    seeds = data.seeds(*(part for part in key if not part.endswith("×")))
    outcome = "undecided" if open_ and outcome == "agrees" else outcome
    return sentence(f"{text} (deciding: {', '.join(key)})", cells[key], relation, bound, outcome, seeds)


def _height(found: Estimate, sign: int) -> float:
    return -math.inf if math.isnan(found.value) else sign * found.value


def level(data: Readings, names: Iterable[str], text: str, bound: float = LEVEL, far: float = FAR) -> Sentence:
    """Growth of all of these at every length above the training length, up to `far` times it."""
    cells, short = {}, False
    for name in data.there(names):
        read = data.lengths(name, least=1.001, most=far)
        short = short or max(read, default=0) < far * data.trained
        cells |= {(name, f"{length / data.trained:.3g}×"): data.of(name, "growth", length) for length in read}
    return deciding(data, text, cells, "<=", bound, open_=short)


def beyond(data: Readings, name: str, bound: float, length: int | None = None, enough: float = FAR) -> Sentence:
    """Growth at one length, by default the longest that was read; a model that has not broken before `enough` times
    the training length may break later."""
    read = data.lengths(name)
    if not read:
        return Sentence(f"{name} is not read in this profile", math.nan, ">", bound, "undecided")
    length = length or read[-1]
    found = data.of(name, "growth", length)
    early = length < enough * data.trained and judge(found, ">", bound) == "disagrees"
    text = f"{name} grows by more than {bound} nats at {length / data.trained:.3g}×"
    return data.says(text, (name,), found, ">", bound, open_=early)


def below(data: Readings, name: str, other: str, text: str, lengths: Sequence[int], column: str = "loss") -> Sentence:
    """How far the mean over lengths of `name` lies below that of `other`."""
    return data.says(text, (name, other), data.gap(other, name, column, lengths), ">", 0.0)


def small(frames: Mapping[str, pd.DataFrame]) -> Readings:
    return Readings(frames[READINGS], (SMALL,))


def longer(frames: Mapping[str, pd.DataFrame]) -> Readings | None:
    """The models trained on twice the length; None where a profile has none."""
    frame = frames[READINGS]
    return Readings(frame, (LONGER,)) if (frame["part"] == LONGER).any() else None
