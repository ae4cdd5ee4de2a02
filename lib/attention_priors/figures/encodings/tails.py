"""What a prior puts near and far, and what its model retrieves (X-11)."""

import math

from attention_priors.experiments.tails import NEAR, QUANTITIES, correlation
from attention_priors.figures import style
from attention_priors.figures.encodings.families import FAMILIES
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import bounded, trained_on
from attention_priors.positions.encodings import encoding


def shown(frame: Frame) -> Frame:
    return rivals(frame[frame["passed"].astype(bool)], "encoding", "encodings_tails")


def draw(frame: Frame) -> Figure:
    """A panel a quantity; a mark for each encoding, bars to its extremes; the last panel names the marks."""
    rows = shown(frame)
    means = rows.groupby("encoding", sort=False)[[*QUANTITIES, "accuracy"]].mean().sort_values("accuracy")
    fig, axes = style.figure(style.MIDDLE, max(2.4, 0.14 * len(means) + 0.8), ncols=len(QUANTITIES), sharey=True)
    _, color, marker = FAMILIES["prior"]
    trained = trained_on(rows)
    where = (f"on lags below {trained // NEAR}", f"on lags above {trained}", "of one and of the other")
    for ax, quantity, lags in zip(axes, QUANTITIES, where, strict=True):
        ax.set(xlim=(-0.05, 1.05), ylim=(-0.06, 1.06), xlabel=f"{QUANTITIES[quantity]},\n{lags}")
        for name, (x, y) in means[[quantity, "accuracy"]].iterrows():
            own = rows[rows["encoding"] == name]
            look = {"color": color, "linewidth": 0.6}
            ax.plot([own[quantity].min(), own[quantity].max()], [y, y], **look)
            ax.plot([x, x], [own["accuracy"].min(), own["accuracy"].max()], **look)
            face = color if encoding(name).ssmax else "white"
            ax.plot(x, y, marker, color=color, markerfacecolor=face, markersize=4, zorder=4)
    axes[0].set_ylabel(f"accuracy at {int(rows['length'].iloc[0]):,} tokens")
    fig.draw_without_rendering()
    last, quantity, points = axes[-1], list(QUANTITIES)[-1], fig.dpi / 72
    box, ends = last.bbox, means[[quantity, "accuracy"]]
    heights = last.transData.transform(ends)[:, 1] / points
    places = style.spread(heights, 1.15 * style.SMALLEST, box.y0 / points, box.y1 / points) * points
    for (name, at), place in zip(ends.iterrows(), places, strict=True):
        last.annotate(label(name), tuple(at), xytext=(1.08, (place - box.y0) / box.height), textcoords="axes fraction",
                      va="center", fontsize=style.SMALLEST, annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": style.PALE, "relpos": (0, 0.5),
                                  "shrinkA": 0})  # fmt: skip
    return fig


def caption(frame: Frame) -> str:
    rows = shown(frame)
    found = {words: correlation(frame, name) for name, words in QUANTITIES.items()}
    said = "; ".join(f"{words} {bounded(each.rho, each.low, each.high)}, p = {each.p:.2g}"
                     for words, each in found.items() if not math.isnan(each.rho))  # fmt: skip
    missed = sorted({label(name) for name in frame["encoding"]} - {label(name) for name in rows["encoding"]})
    trained = trained_on(rows)
    return (
        f"What a prior allows and what its model does: the most that one head's prior alone puts on lags below "
        f"{trained // NEAR} and on lags above {trained}, the training length; and the share of passkeys retrieved. At "
        f"a query that sees {int(rows['length'].iloc[0]):,} keys. Marks: means over seeds, "
        f"filled with SSMax; thin bars: extremes over seeds. Spearman's correlation over {rows['encoding'].nunique()} "
        f"encodings, p by permuting them: {said or 'not defined here'}. Rotations and embeddings have no prior"
        f"{'; no seed passed the gate of ' + ', '.join(missed) if missed else ''}."
    )


FIGURE = FigureSpec(
    "encodings_tails", draw, caption, notebook="passkeys", claims=("X-11",),
    columns=("encoding", "length", "trained", *QUANTITIES, "accuracy", "passed"),
    alt="Three scatter plots with a named mark for each encoding that has a log-prior or none: the prior's near mass, "
    "its far mass and the smaller of both against the share of passkeys retrieved.",
)  # fmt: skip
