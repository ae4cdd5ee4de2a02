"""What a pretrained model loses without some of the keys, by layers."""

from __future__ import annotations

import numpy as np

from attention_priors.evaluation import seed_interval
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame

BASE = "nothing"
COLORS = (style.ORANGE, style.BLUE, style.GREEN)


def draw(frame: Frame) -> Figure:
    """A row for each region and block of layers: mean over documents with its interval."""
    base = frame[frame["region"] == BASE].set_index("document")["loss"]
    regions = [region for region in dict.fromkeys(frame["region"]) if region != BASE]
    fig, ax = style.figure(style.MIDDLE, 0.7 + 0.15 * 4 * len(regions))
    ticks, middles = [], []
    for color, region in zip(COLORS, regions, strict=False):
        for block in dict.fromkeys(frame.loc[frame["region"] == region, "layers"]):
            own = frame[(frame["region"] == region) & (frame["layers"] == block)].set_index("document")["loss"] - base
            low, high = seed_interval(own)
            if np.isfinite(low):
                ax.plot([low, high], [len(ticks)] * 2, color=color, linewidth=1)
            ax.plot(own, [len(ticks)] * len(own), linestyle="none", marker=".", color=style.GREY, markersize=2.5)
            ax.plot([own.mean()], [len(ticks)], marker="o", color=color)
            middles.append(own.mean())
            ticks.append(f"{region}, {block}")
    ax.set_yticks(range(len(ticks)), ticks)
    ax.invert_yaxis()
    ax.axvline(0, color=style.GREY, linewidth=0.7, linestyle=":")
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlim(left=min(-0.05, 1.2 * min(middles)))
    ax.set_xlabel("loss above that with all keys (nats)")
    return fig


def caption(frame: Frame) -> str:
    return (
        f"{frame['model'].iloc[0]} without some of its keys: loss above that with all, mean of "
        f"{frame['document'].nunique()} documents with a 95 % t interval; grey: documents. "
        f"Hidden are the first four keys, the four nearest (a query keeps its own), or all between the first four and "
        f"the nearest 256, in all layers or in a third of them. The axis is linear within 0.1."
    )


FIGURE = FigureSpec(
    "pretrained_eviction",
    draw,
    caption,
    notebook="pretrained_model",
    claims=("X-22",),
    columns=("document", "region", "layers", "loss", "model"),
    alt="A row for each region of keys and block of layers: the loss without these keys above that with all.",
)
