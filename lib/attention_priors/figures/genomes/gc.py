"""G and C of what models write, beside what follows in the genome."""

import numpy as np

from attention_priors.experiments.genomes import FEW, correlations
from attention_priors.figures import panels, style
from attention_priors.figures.genomes.looks import BEGINNING, NOTEBOOK, drawn
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import listed

SHOWN = 3  # texts: the first, the middle one and the last
ROW = 0.6  # of a row's height between the seeds of an encoding, all together


def draw(frame: Frame) -> Figure:
    """Three texts, then r of all of them by encoding."""
    rivals(frame, "encoding", "genomes_gc")
    found = correlations(frame)
    names = [*dict.fromkeys(frame["encoding"]), BEGINNING]
    height = 2.1 + 0.12 * len(names)
    fig, axes = style.figure(style.MIDDLE, height, ncols=SHOWN + 1, width_ratios=[1] * SHOWN + [1.6])
    texts = np.unique(frame["text"])
    first = axes[0]
    for ax, text in zip(axes[:SHOWN], texts[[0, len(texts) // 2, -1]], strict=True):
        _trajectory(ax, frame[frame["text"] == text])
        ax.set(ylim=(-0.03, 1.03), title=f"text {int(text) + 1}")
        if ax is not first:
            ax.set_yticklabels([])
    first.set_ylabel("share of G and C")
    axes[SHOWN // 2].set_xlabel("bases after the beginning")
    _all(axes[SHOWN], found, names)
    panels.letter(axes)
    handles, labels = first.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3)
    return fig


def _trajectory(ax: style.Axes, rows: Frame) -> None:
    """What follows in the genome, thick, and what models write: mean over seeds as a line, seeds as dots.

    One encoding for each colour, so that Goat is drawn once, beside its rivals.
    """
    bases = int(rows["bases"].iloc[0])
    true = rows.drop_duplicates("piece").sort_values("piece")
    x = bases * (true["piece"] + 0.5)
    ax.plot(x, true["true"], color=style.BLACK, linewidth=2, label="the genome")
    ax.axhline(true["before"].iloc[0], color=style.GREY, linewidth=0.7, linestyle=":", label="the beginning")
    for name in _apart(rows):
        own, look = rows[rows["encoding"] == name], drawn(name)
        ax.plot(
            x,
            own.groupby("piece")["written"].mean(),
            color=look["color"],
            marker=look["marker"],
            linewidth=1,
            label=look["label"],
        )
        style.seed_dots(ax, bases * (own["piece"] + 0.5), own["written"], look["color"])


def _apart(rows: Frame) -> list[str]:
    """The first encoding of each colour."""
    names = dict.fromkeys(rows["encoding"])
    return list({drawn(name)["color"]: name for name in reversed(names)}.values())[::-1]


def _all(ax: style.Axes, found: Frame, names: list[str]) -> None:
    """r of every seed with its interval over texts; behind it, pale, where r of FEW texts lies."""
    for place, name in enumerate(names):
        own, look = found[found["encoding"] == name], drawn(name)
        shifts = (np.arange(len(own)) - (len(own) - 1) / 2) * ROW / max(len(own), 1)
        for shift, row in zip(shifts, own.itertuples(), strict=True):
            y = place + shift
            ax.plot([row.few_low, row.few_high], [y, y], color=look["color"], alpha=0.3, linewidth=3, label="_fill")
            ax.plot([row.low, row.high], [y, y], color=look["color"], linewidth=0.9)
            ax.plot(row.r, y, look["marker"], color=look["color"], markersize=3.5, markeredgewidth=0.8)
    ax.axvline(0, color=style.GREY, linewidth=0.7, linestyle=":")
    ax.set_yticks(range(len(names)), [drawn(name)["label"] for name in names])
    ax.yaxis.tick_right()
    ax.set(ylim=(len(names) - 0.4, -0.6), xlim=(-1, 1), xlabel="r", title="all texts")


def caption(frame: Frame) -> str:
    found = correlations(frame)
    models = found[found["encoding"] != BEGINNING]
    copied = found[found["encoding"] == BEGINNING].iloc[0]
    means = models.groupby("encoding", sort=False)["r"].mean()
    said = ", ".join(f"{drawn(name)['label']} {r:.2f}" for name, r in means.items())
    few = models[["few_low", "few_high"]].mean()
    return (
        f"G and C in pieces of {int(frame['bases'].iloc[0])} bases, written against true, over "
        f"{frame['text'].nunique()} texts. Panels a to c: the first, the middle and the last text, an encoding of each "
        f"kind, means and seeds. Panel d: their correlation r: {said} (means of seeds {listed(models['seed'])}); "
        f"{copied['r']:.2f} for the beginning's own. Bars: 95 % over texts; {FEW} texts alone (pale) give "
        f"{few['few_low']:.2f} to {few['few_high']:.2f}."
    )


FIGURE = FigureSpec(
    "genomes_texts",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4",),
    columns=("encoding", "seed", "text", "piece", "written", "true", "before", "bases"),
    alt="Three panels with the share of G and C along a text, of the genome and of what each model writes, and one "
    "with the correlation of both over all texts for every encoding and seed, with its interval.",
)
