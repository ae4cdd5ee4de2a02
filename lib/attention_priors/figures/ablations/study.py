"""A study is arms that differ in one thing; its figure is a row for each arm, a panel for each of some lengths."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attention_priors import evaluation
from attention_priors.figures import forest, style
from attention_priors.figures.curves import ACCURACY, over_seeds, shares
from attention_priors.figures.methods import METHODS, VARIANTS
from attention_priors.figures.methods import look as method_look
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, GOOD, bounded, extremes, prompts
from attention_priors.positions.encodings import ENCODINGS

PRIORS, TRAINING = ("ablation_priors", "learned_priors"), ("ablation_training", "passkeys")  # metrics, notebook
COLUMNS = ("study", "arm", "seed", "trained", "length", "correct", "samples")
MULTIPLES = (1, 4, 16, 64)  # of the shortest training length: the panels
Panels = dict[str, dict[str, str]]  # title: arm: its name there


@dataclass(frozen=True)
class Study:
    """`panels` names every arm, or makes the panels of the arms' rows where arms differ in a number."""

    name: str
    title: str  # in the table
    panels: Panels | Callable[[Frame], Panels]
    reads: tuple[str, ...] = ()  # columns that the panels are made of

    def named(self, rows: Frame) -> Panels:
        """The panels that have rows. No arm is left out: ValueError for one without a name."""
        arms = rows.drop_duplicates("arm")
        if callable(self.panels):
            return self.panels(arms)
        there = set(arms["arm"])
        if lost := there - {arm for group in self.panels.values() for arm in group}:
            raise ValueError(
                f"study {self.name} has arms without a name: {', '.join(sorted(lost))}; add them to its panels in "
                "figures/ablations/studies.py"
            )
        made = {title: {arm: group[arm] for arm in group if arm in there} for title, group in self.panels.items()}
        return {title: group for title, group in made.items() if group}

    def of(self, frame: Frame) -> Frame:
        return rivals(frame[frame["study"] == self.name], "arm", f"study {self.name}")

    def draw(self, frame: Frame) -> Figure:
        """A row for each arm under the heading of its group, a panel for each length, with intervals and seeds."""
        rows = self.of(frame)
        groups, lengths = self.named(rows), shown(rows)
        made = [
            _row(rows[rows["arm"] == arm], arm, name, title if len(groups) > 1 else "", lengths)
            for title, named in groups.items()
            for arm, name in named.items()
        ]
        width = style.DOUBLE if len(lengths) > 2 else style.MIDDLE
        return forest.draw(made, list(lengths.values()), ACCURACY, width=width)[0]

    def caption(self, frame: Frame, words: str) -> str:
        rows = self.of(frame)
        longest = int(rows["trained"].max())
        far, groups = rows[rows["length"] > longest], self.named(rows)

        def mean(arm: str, name: str) -> str:
            value, low, high = beyond(far[far["arm"] == arm])
            return f"{name} –" if np.isnan(value) else f"{name} {bounded(value, low, high)}"

        return (
            f"{words} Mean above {longest} tokens [95 %]: {_each(groups, mean)}.{_short(rows, groups)} {_reading(rows)}"
        )

    def figure(
        self,
        where: tuple[str, str],
        words: str | Callable[[Frame], str],
        alt: str,
        paper: str = "",
        claims: tuple[str, ...] = (),
    ) -> FigureSpec:
        """`words` begin the caption, or make its beginning of the study's rows."""
        metrics, notebook = where

        def told(frame: Frame) -> str:
            return self.caption(frame, words(self.of(frame)) if callable(words) else words)

        alt = f"Rows of passkey accuracy for {alt}, a panel for each of some context lengths, with bars and seeds."
        return FigureSpec(metrics, self.draw, told, alt, notebook, (*COLUMNS, "asked", *self.reads), paper, claims)


def shown(rows: Frame) -> dict[int, str]:
    """The lengths that are drawn, with their titles: those of MULTIPLES that some arm was asked at, or both ends."""
    shortest, asked = int(rows["trained"].min()), set(rows["length"][rows["asked"] > 0])
    lengths = [shortest * multiple for multiple in MULTIPLES if shortest * multiple in asked]
    if len(lengths) < 2:
        lengths = sorted({min(asked), max(asked)})
    return {length: f"{style.length_label(length)} tokens" for length in lengths}


def _row(own: Frame, arm: str, name: str, group: str, lengths: dict[int, str]) -> forest.Row:
    asked = own[own["asked"] > 0]
    shares, means = (asked["correct"] / asked["samples"]).groupby(asked["length"]), arm_mean(own)
    cells = {
        title: forest.Cell(list(shares.get_group(length)), *means.loc[length])
        for length, title in lengths.items()
        if length in means.index
    }
    return forest.Row(name, cells, *_look(arm), group=group)


def _look(arm: str) -> tuple[str, str]:
    """Colour and marker: of the method that an arm is; grey for one that stands nowhere else."""
    row = ENCODINGS.get(arm)
    if row is None or not (arm in VARIANTS or (row.unscaled or arm) in METHODS):
        return style.DARK, "o"
    drawn = method_look(arm)
    return drawn["color"], drawn["marker"]


def arm_mean(rows: Frame) -> Frame:
    """Mean and interval of one arm at the lengths that some seed was asked at; who was not asked counts as 0."""
    asked = rows[rows.groupby("length")["asked"].transform("any")]
    return over_seeds(asked.assign(share=asked["correct"] / asked["samples"]), "share", shares)


def beyond(rows: Frame) -> tuple[float, float, float]:
    """Mean accuracy above the longest training length of a study's arms, and its interval; NaN where none was asked."""
    if rows.empty:
        return np.nan, np.nan, np.nan
    seeds = rows.groupby("seed")[["correct", "samples"]].sum()
    return (seeds["correct"] / seeds["samples"]).mean(), *evaluation.share_interval(seeds["correct"], seeds["samples"])


def _each(groups: Panels, told: Callable[[str, str], str]) -> str:
    """What is told of every arm, panel by panel; an arm of which nothing is told is left out, as is its panel."""
    parts = []
    for title, named in groups.items():
        each = ", ".join(filter(None, (told(arm, name) for arm, name in named.items())))
        parts += [f"{title}: {each}" if len(groups) > 1 else each] if each else []
    return "; ".join(parts)


def _short(rows: Frame, groups: Panels) -> str:
    """' Below 0.8 at their own training length: 512 (1 of 3 seeds).', or nothing where every seed is good there."""
    own = rows[rows["length"] == rows["trained"]]
    failed = (own["correct"] / own["samples"] < GOOD).groupby(own["arm"]).agg(["sum", "size"])
    failed = failed[failed["sum"] > 0].T.to_dict("list")

    def seeds(arm: str, name: str) -> str:
        return f"{name} ({failed[arm][0]} of {failed[arm][1]} seeds)" if arm in failed else ""

    return f" Below {GOOD} at their own training length: {_each(groups, seeds)}." if failed else ""


def _reading(rows: Frame) -> str:
    ended = " Empty: no seed was asked so far, after too many lengths without a hit; that counts as 0."
    seeds = extremes(rows.groupby("arm")["seed"].nunique())
    return (
        f"Mark: mean over {seeds} seeds; bar: 95 % interval of that mean over seeds and prompts; dots above: seeds."
        f"{'' if rows['asked'].all() else ended} {prompts(rows)}. Chance is {CHANCE}."
    )
