"""A study is arms that differ in one thing; its figure is a panel for each group of arms, a line for each arm."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from attention_priors import evaluation
from attention_priors.figures import style
from attention_priors.figures.curves import ACCURACY, accuracy_axes, curve, over_seeds, shares
from attention_priors.figures.methods import look as method_look
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, DRAWN, GOOD, bounded, extremes, prompts

PRIORS, TRAINING = ("ablation_priors", "learned_priors"), ("ablation_training", "passkeys")  # metrics, notebook
COLUMNS = ("study", "arm", "seed", "trained", "length", "correct", "samples")
PURPLE, FOREST, WINE, OLIVE = "#332288", "#117733", "#882255", "#999933"
# of arms that are no method elsewhere: colour, dashes, marker
LOOKS: dict[str, tuple[str, tuple, str]] = {
    "bam-laplace-ssmax": (PURPLE, (4, 1, 1, 1), "P"),
    "bam-laplace": (style.lighten(PURPLE), (1, 1), "P"),
    "bam-code-a-ssmax": ("#AA4499", (1, 1, 3, 1), "h"),
    "bam-code-b-ssmax": ("#44AA99", (6, 1, 2, 1), "<"),
    "bam-code-c-ssmax": (FOREST, (2, 1), ">"),
    "bam-shared-ssmax": (OLIVE, (1, 1), "p"),
    "bam-misread": (style.DARK, (1, 1), "x"),
    "bam-ssmax-misread": (WINE, (2, 1, 1, 1), "X"),
    "bam-laplace-ssmax-misread": (style.lighten(PURPLE), (3, 1), "+"),
    "bam-shape-ssmax": (FOREST, (6, 1, 2, 1), "<"),
    "bam-location-ssmax": (WINE, (2, 1), ">"),
    "bam-scale-ssmax": (OLIVE, (1, 1), "p"),
    "bam-laplace-shape-ssmax": (FOREST, (6, 1, 2, 1), "<"),
    "bam-laplace-scale-ssmax": (OLIVE, (1, 1), "p"),
    "bam-negative-ssmax": (PURPLE, (4, 1, 1, 1), "v"),
    "bam-positive-ssmax": (FOREST, (2, 1), "^"),
    "bam-mixed-ssmax": (WINE, (1, 1, 3, 1), "D"),
    "rope-extended": (FOREST, style.SOLID, "s"),
    "rope-pi-4": (WINE, (2, 1), "v"),
    "rope-pi-4-extended": (PURPLE, style.SOLID, "P"),
}
# of arms that differ in a number: the smallest first
SHADES = (
    (style.lighten(style.ORANGE, 0.45), (1, 1), "s"),
    (style.ORANGE, (5, 1.5), "o"),
    (style.darken(style.ORANGE, 0.6), style.SOLID, "^"),
    (style.DARK, (2, 1), "D"),
)
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
                f"figures/ablations/{self.name}.py"
            )
        made = {title: {arm: group[arm] for arm in group if arm in there} for title, group in self.panels.items()}
        return {title: group for title, group in made.items() if group}

    def of(self, frame: Frame) -> Frame:
        return rivals(frame[frame["study"] == self.name], "arm", f"study {self.name}")

    def draw(self, frame: Frame) -> Figure:
        """Accuracy by length: a panel for each group of arms, a line with its interval for each arm, dots for seeds."""
        rows = self.of(frame)
        groups = self.named(rows)
        wide = len(groups) > 1
        fig, axes = style.figure(style.DOUBLE if wide else style.SINGLE, 2.5, ncols=len(groups), sharey=True)
        for ax, (title, named) in zip(np.atleast_1d(axes), groups.items(), strict=True):
            _panel(ax, rows[rows["arm"].isin(list(named))], named, shaded=callable(self.panels))
            ax.set_title(title if wide else "")
        fig.axes[0].set_ylabel(ACCURACY)
        return fig

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
        self, where: tuple[str, str], words: str | Callable[[Frame], str], alt: str, paper: str = "",
        claims: tuple[str, ...] = (),
    ) -> FigureSpec:  # fmt: skip
        """`words` begin the caption, or make its beginning of the study's rows."""
        metrics, notebook = where

        def told(frame: Frame) -> str:
            return self.caption(frame, words(self.of(frame)) if callable(words) else words)

        alt = f"Lines of passkey accuracy against context length for {alt}, each {DRAWN}."
        return FigureSpec(metrics, self.draw, told, alt, notebook, (*COLUMNS, "asked", *self.reads), paper, claims)


def look(arm: str, place: int, shaded: bool) -> dict[str, Any]:
    """Colour, dashes and marker of an arm: a method's own, one of LOOKS, or that of its place in a series."""
    if not shaded and arm not in LOOKS:
        return method_look(arm)
    color, dashes, marker = SHADES[place % len(SHADES)] if shaded else LOOKS[arm]
    return {"color": color, "dashes": dashes, "marker": marker}


def arm_mean(rows: Frame) -> Frame:
    """Mean and interval of one arm at the lengths that some seed was asked at; who was not asked counts as 0."""
    asked = rows[rows.groupby("length")["asked"].transform("any")]
    return over_seeds(asked.assign(share=asked["correct"] / asked["samples"]), "share", shares)


def _panel(ax: Axes, rows: Frame, named: Mapping[str, str], *, shaded: bool) -> None:
    for place, (arm, name) in reversed(list(enumerate(named.items()))):
        own = rows[rows["arm"] == arm]
        asked = own[own["asked"] > 0].set_index("length")
        drawn = look(arm, place, shaded) | {"label": name}
        curve(ax, arm_mean(own), asked["correct"] / asked["samples"], drawn, zorder=20 - place)
    accuracy_axes(ax, rows["length"], rows["trained"], ylabel="", most=8)
    style.direct_labels(ax)


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
    ended = " Lines end where no seed was asked further, after too many lengths without a hit; that counts as 0."
    return (
        f"Line: mean over {extremes(rows.groupby('arm')['seed'].nunique())} seeds; band: 95 % interval of that mean "
        f"over seeds and prompts; dots: seeds; dotted vertical: training length.{'' if rows['asked'].all() else ended} "
        f"{prompts(rows)}. Chance is {CHANCE}."
    )
