"""What a prior allows beyond the training length, and what its model does (X-11)."""

import numpy as np

from attention_priors.experiments.tails import correlation
from attention_priors.figures import style
from attention_priors.figures.encodings.families import FAMILIES
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import bounded, trained_on
from attention_priors.positions.encodings import encoding


def draw(frame: Frame) -> Figure:
    """A mark for each encoding, bars to its extremes."""
    fig, ax = style.figure(style.SINGLE, max(2.9, 0.15 * frame["encoding"].nunique() + 0.6))
    _, color, marker = FAMILIES["prior"]
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.06, 1.06))
    ax.set_xlabel(f"prior mass beyond {trained_on(frame)} tokens,\nwidest head")
    ax.set_ylabel(f"accuracy at {int(frame['length'].iloc[0]):,} tokens")
    means = frame.groupby("encoding", sort=False)[["tail", "accuracy"]].mean().sort_values(["accuracy", "tail"])
    for name, (x, y) in means.iterrows():
        own = frame[frame["encoding"] == name]
        look = {"color": color, "alpha": 0.4, "linewidth": 0.8}
        ax.plot([own["tail"].min(), own["tail"].max()], [y, y], **look)
        ax.plot([x, x], [own["accuracy"].min(), own["accuracy"].max()], **look)
        face = color if encoding(name).ssmax else "white"
        ax.plot(x, y, marker, color=color, markerfacecolor=face, markersize=4, zorder=4)
    fig.draw_without_rendering()
    box, points = ax.bbox, fig.dpi / 72
    heights = ax.transData.transform(means)[:, 1] / points
    places = style.spread(heights, 1.15 * style.SMALLEST, box.y0 / points, box.y1 / points) * points
    for (name, at), place in zip(means.iterrows(), places, strict=True):
        ax.annotate(label(name), tuple(at), xytext=(1.08, (place - box.y0) / box.height), textcoords="axes fraction",
                    va="center", fontsize=style.SMALLEST, annotation_clip=False,
                    arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": style.PALE, "relpos": (0, 0.5),
                                "shrinkA": 0})  # fmt: skip
    return fig


def caption(frame: Frame) -> str:
    rho, low, high, n = correlation(frame, "accuracy")
    said = "is not defined here" if np.isnan(rho) else f"is {bounded(rho, low, high)}"
    return (
        f"What a prior allows and what its model does: the largest mass that a head's prior alone puts on lags above "
        f"the training length of {trained_on(frame)}, at a query that sees {int(frame['length'].iloc[0]):,} keys, and "
        f"the share of passkeys retrieved there. Marks: means over seeds, filled with SSMax; thin bars: extremes over "
        f"seeds. Spearman's correlation over {n} encodings {said} (95 % interval of Bonett and Wright). Rotations and "
        f"embeddings have no prior."
    )


FIGURE = FigureSpec(
    "encodings_tails", draw, caption, notebook="passkeys", claims=("X-11",),
    columns=("encoding", "length", "trained", "tail", "accuracy"),
    alt="Scatter plot with a named mark for each encoding that has a log-prior or none: the prior's mass at lags above "
    "the training length against the share of passkeys retrieved.",
)  # fmt: skip
