"""Keys that a pretrained model finds, by the number of heads that see the whole text."""

from __future__ import annotations

import numpy as np

from attention_priors.evaluation import binomial_interval
from attention_priors.experiments.pretrained_words import ORDERS, label
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame

LOOKS = {"fetching": (style.BLUE, "o", (None, None)), "distance": (style.ORANGE, "^", (4, 1)),
         "random": (style.GREY, "s", (2, 1)), "others": (style.GREEN, "x", (1, 1))}  # fmt: skip
APART = 0.012  # of the width, by which orders stand beside each other


def draw(frame: Frame) -> Figure:
    """A panel for each length: the share of keys found by the number of far-seeing heads, a line for each order."""
    every, heads = sorted(set(frame["length"])), int(frame["heads"].iloc[0])
    fig, axes = style.figure(style.DOUBLE if len(every) > 1 else style.MIDDLE, 2.5, ncols=len(every), squeeze=False)
    for ax, length, letter in zip(axes[0], every, "abcdef", strict=False):
        for k, (order, own) in enumerate(frame[frame["length"] == length].groupby("order", sort=False)):
            color, marker, dashes = LOOKS[order.partition("-")[0]]
            counts = own.groupby("far")["correct"].agg(["sum", "size"])
            at = counts.index + APART * heads * (k - 1)
            ends = np.array([binomial_interval(int(row["sum"]), int(row["size"])) for _, row in counts.iterrows()])
            ax.vlines(at, *ends.T, color=color, linewidth=0.8)
            ax.plot(
                at,
                counts["sum"] / counts["size"],
                color=color,
                marker=marker,
                dashes=dashes,
                label=ORDERS.get(order, order),
            )
        ax.set(
            xlabel="heads that see far",
            ylim=(-0.02, 1.02),
            xticks=sorted(set(frame["far"])),
            title=f"{letter}: {length:,} tokens" if len(every) > 1 else "",
        )
    axes[0][0].set_ylabel("share of keys found")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    own = frame.iloc[0]
    ways = " and ".join(f"{length:,} tokens ({label(part['way'].iloc[0])})" for length, part in frame.groupby("length"))
    asked = int(frame.groupby(["order", "far", "length"]).size().max())
    return (
        f"Keys of five digits that {own['model']} finds when only some of its {own['heads']} heads see the whole text; "
        f"all others see {own['window']:,} keys and the first four. Texts have {ways}, {asked} prompts each, with "
        f"exact 95 % intervals; orders stand a little beside each other. Heads are ranked on prompts that are not "
        "asked here."
    )


FIGURE = FigureSpec(
    "pretrained_far",
    draw,
    caption,
    notebook="pretrained_model",
    claims=("X-27",),
    columns=("order", "far", "heads", "length", "way", "window", "correct", "model"),
    alt="The share of keys found against the number of heads that see far, a line for each order of the heads, with "
    "intervals.",
)
