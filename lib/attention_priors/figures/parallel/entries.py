"""Accuracy against what the question attends to: every way to read, at 16 times the training length."""

import numpy as np

from attention_priors.evaluation import share_interval
from attention_priors.figures import style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK, shown
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import counted, tokens, trained_on
from attention_priors.parallel.methods import METHODS

FAR = 16
KINDS = {True: (style.ORANGE, "o", "reads chunks"), False: (style.BLUE, "s", "does not")}


def at(frame: Frame) -> tuple[Frame, int]:
    """The rows at 16 times the training length, or at the longest that was asked, and that length."""
    length = min(FAR * trained_on(frame), int(frame["length"].max()))
    return rivals(frame[frame["length"] == length], "method", "parallel_entries"), length


def draw(frame: Frame) -> Figure:
    """A row for each method, the best of the first encoding on top: accuracy with its interval and seeds, then keys."""
    rows, _ = at(frame)
    encodings = list(dict.fromkeys(rows["encoding"]))
    first = rows[rows["encoding"] == shown(rows)[1]]
    names = list(first.groupby("method")["accuracy"].mean().sort_values(kind="stable").index)
    names = [name for name in dict.fromkeys(rows["method"]) if name not in names] + names
    fig, axes = style.figure(
        style.MIDDLE, 0.95 + 0.155 * len(names), ncols=len(encodings) + 1, sharey=True, squeeze=False
    )
    for ax, encoding in zip(axes[0], encodings, strict=False):
        own = rows[rows["encoding"] == encoding]
        for name, each in own.groupby("method"):
            color, marker, _ = KINDS[METHODS[name].chunks]
            y = names.index(name)
            mean, low, high = _mean(each)
            style.interval_row(ax, (low, high), y, color, up=-2)
            style.seed_dots(ax, each["accuracy"], [y] * len(each), color, up=2)
            ax.plot([mean], [y], marker, markersize=4, color=color)
        ax.set(xlim=(-0.04, 1.04), title=label(encoding), xlabel="share retrieved")
    ax = axes[0, -1]
    for name, each in rows.groupby("method"):
        color, marker, said = KINDS[METHODS[name].chunks]
        ax.plot([each["entries"].mean()], [names.index(name)], marker, markersize=4, color=color)
    for color, marker, said in KINDS.values():
        ax.plot([], [], marker, color=color, markersize=4, label=said)
    ax.set(xscale="log", title="memory", xlabel="keys attended to")
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2, handlelength=1)
    axes[0, 0].set_yticks(np.arange(len(names)), [METHODS[name].label for name in names])
    return fig


def _mean(each: Frame) -> tuple[float, float, float]:
    return (each["accuracy"].mean(), *share_interval(each["correct"], each["samples"]))


def caption(frame: Frame) -> str:
    rows, length = at(frame)
    said = []
    for encoding, own in rows[rows["method"] != "oracle"].groupby("encoding", sort=False):
        means = own.groupby("method")["accuracy"].mean()
        chunks = means.index.map(lambda name: METHODS[name].chunks)
        best = [f"{METHODS[each.idxmax()].label} {each.max():.2f}" for each in (means[chunks], means[~chunks])
                if len(each)]  # fmt: skip
        said.append(f"{label(encoding)} {' and '.join(best)}")
    return (
        f"Passkeys at {tokens(length, trained_on(frame))} by way to read, and how many keys of the text the question "
        f"attends to, a mean over layers and heads. Best with chunks, and without: {'; '.join(said)} (the oracle "
        f"apart). Large marks: means; dots: {counted(rows['seed'])}; bars: 95 % interval of the mean over seeds and "
        "prompts."
    )


FIGURE = FigureSpec(
    "parallel_by_length", draw, caption, notebook=NOTEBOOK, claims=("PC-MINI",),
    columns=("encoding", "method", "seed", "length", "correct", "samples", "accuracy", "entries", "trained"),
    alt="A row for each way to read a long prompt: share of passkeys retrieved with interval and seeds in a panel for "
    "each encoding, and on the right the number of keys that the question attends to.",
)  # fmt: skip
