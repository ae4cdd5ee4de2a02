"""The prior that the heads of a pretrained model carry."""

from __future__ import annotations

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame

WAYS = (("by_nothing", "uniform", style.GREY, "s"), ("by_ggd", "generalised Gaussian", style.ORANGE, "^"),
        ("by_lag", "any function of the lag", style.BLUE, "o"))  # fmt: skip
HALF = 0.5


def draw(frame: Frame) -> Figure:
    """a: how far attention is from what the position alone gives, by layer; b: first key's weight and norm, by head."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.6, ncols=2)
    for column, name, color, marker in WAYS:
        own = frame.groupby("layer")[column]
        left.plot(own.mean().index + 1, own.mean(), color=color, marker=marker, label=name)
    left.set(xlabel="layer", ylabel="total variation", title="a", ylim=(0, 1))
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, columnspacing=1.0, handlelength=1.6)
    heads = frame.groupby(["layer", "head"])[["sink", "key_ratio"]].mean()
    third = np.asarray(heads.index.get_level_values("layer")) * 3 // (int(frame["layer"].max()) + 1)
    for which, (color, marker) in enumerate(((style.ORANGE, "^"), (style.BLUE, "o"), (style.GREEN, "s"))):
        own = heads[third == which]
        right.plot(
            own["sink"],
            own["key_ratio"],
            linestyle="none",
            marker=marker,
            color=color,
            markersize=2.5,
            label=("first third", "middle", "last third")[which],
        )
    right.axhline(1, color=style.GREY, linewidth=0.7, linestyle=":")
    right.axvline(HALF, color=style.GREY, linewidth=0.7, linestyle=":")
    right.set_yscale("log")
    right.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    right.yaxis.minorticks_off()
    right.set_ylim(heads["key_ratio"].min() / 1.2, heads["key_ratio"].max() * 1.2)
    right.set(xlabel="weight of the first key", ylabel="its norm / median key", title="b")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, columnspacing=1.0, handlelength=1.0)
    return fig


def caption(frame: Frame) -> str:
    heads = len(frame[["layer", "head"]].drop_duplicates())
    return (
        f"{frame['model'].iloc[0]}, {heads} heads, {frame['document'].nunique()} documents: a, total variation between "
        f"attention and a prior of position alone; b, weight of the first key and its norm. Priors are fitted on other "
        f"queries of the same text, with a bias for the first key but for the uniform one, and panel a is a mean over "
        f"heads. In b a mark is a head, layers by thirds: right of the dotted line it gives the first key more than "
        f"half; below the other line that key is shorter than the text's median."
    )


FIGURE = FigureSpec(
    "pretrained_heads",
    draw,
    caption,
    notebook="pretrained_model",
    claims=("X-21", "X-23"),
    columns=("document", "layer", "head", "sink", "key_ratio", "by_nothing", "by_lag", "by_ggd", "model"),
    alt="Two panels: the distance of attention from three priors of position by layer, and for each head the weight of "
    "the first key against the norm of its key.",
)
