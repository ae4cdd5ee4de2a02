"""A model that nobody here trained: losses by length, keys found, priors of its heads, eviction, heads that see far."""

from __future__ import annotations

import numpy as np

from ..evaluation import binomial_interval, seed_interval
from ..experiments.pretrained_words import ORDERS, label
from . import lines, style
from .spec import Figure, FigureSpec, Frame, rivals

# Loss by position under each way to read a longer text
AS_IS = "as-is"


def _beside(frame: Frame, within: bool) -> Frame:
    """Loss above that of the model as it is: rows documents, columns ways; means up to T, or at the longest length."""
    own = frame[frame["length"] <= frame["trained"]] if within else frame[frame["length"] == frame["length"].max()]
    losses = own.pivot_table(index="document", columns="way", values="loss")
    return losses.sub(losses[AS_IS], axis=0).drop(columns=AS_IS)


def draw_losses(frame: Frame) -> Figure:
    rivals(frame, "way", "ways to read")
    beyond = _beside(frame, False)
    order = beyond.mean().sort_values().index
    height = 1.1 + 0.17 * max(len(order), 6)
    fig, (left, middle, right) = style.figure(style.DOUBLE, height, ncols=3, width_ratios=(1.25, 1, 1))
    looks = {order[0]: lines.SERIES[2], order[-1]: lines.SERIES[1], AS_IS: lines.SERIES[4]}
    means = frame.groupby(["way", "length"])["loss"].mean()
    for way in order[1:-1]:
        left.plot(means[way].index, means[way], color=style.PALE, linewidth=0.8, zorder=1)
    for way, look in looks.items():
        left.plot(means[way].index, means[way], **lines.look(*look, label(way)))
        own = frame[frame["way"] == way].groupby("length")["loss"]
        low, high = zip(*(seed_interval(losses) for _, losses in own), strict=True)
        style.interval_bars(left, means[way].index, low, high, look[0], linewidth=0.6)
    lines.place(left, frame["trained"].iloc[0])
    every = sorted(set(frame["length"]))
    ticks = every[1::2] if len(every) > 4 else every
    left.set_xticks(ticks, [style.length_label(tick) for tick in ticks])
    left.set(xlabel="tokens read", ylabel="loss (nats)", title="a")
    style.legend(fig, [left], "lower center", ncols=3)
    for ax, values, title in (
        (middle, _beside(frame, True), "b: up to T"),
        (right, beyond, f"c: at {frame['length'].max():,} tokens"),
    ):
        for y, way in enumerate(order):
            color = looks[way][0] if way in looks else style.BLUE
            style.interval_row(ax, seed_interval(values[way]), y, color)
            ax.plot(values[way].mean(), y, "o", color=color)
        lines.place(ax, 0)
        ax.set(title=title, xlabel="nats above as it is", ylim=(len(order) - 0.4, -0.6))
        ax.set_yticks(range(len(order)), map(label, order) if ax is middle else [""] * len(order))
    return fig


def caption_losses(frame: Frame) -> str:
    first, longest = frame.iloc[0], int(frame["length"].max())
    scored = frame[frame["length"] == longest].groupby("way")["loss"].mean().sort_values()
    ends = "; ".join(f"{label(way)}: {loss:.2f}" for way, loss in scored.items())
    return (
        f"{first['model']}, read beyond the {first['trained']:,} tokens of its training: a, loss by position; b, mean "
        f"loss up to T above that of the model as it is; c, the same at {longest:,} tokens. "
        f"Panel a names the model as it is and the ways with the lowest and the highest loss at the end; pale: the "
        f"others; dotted: T, the trained length. Losses are those on the tokens before each position, means of "
        f"{frame['document'].nunique()} documents; bars: 95 % t intervals over them, which the documents' own levels "
        f"widen in a. At {longest:,} tokens: {ends}."
    )


LOSSES = FigureSpec(
    "pretrained_losses",
    draw_losses,
    caption_losses,
    notebook="pretrained_model",
    claims=("X-18", "X-19", "X-20"),
    alt="Three panels: the loss over the position in the text, a dotted line at the trained length; and a row for each "
    "way to read with its loss above that of the model as it is, up to the trained length and at the end.",
)


# Passkeys that a pretrained model finds, by depth and length, and by how it reads
def draw_keys(frame: Frame) -> Figure:
    rivals(frame, "way", "ways to read")
    fig, (left, right) = style.figure(style.DOUBLE, 2.5, ncols=2)
    own = frame[frame["way"] == AS_IS]
    every = sorted(set(own["length"]))
    for hit, marker, color in ((1, "o", style.BLUE), (0, "x", style.ORANGE)):
        part = own[own["correct"] == hit]
        look = {"marker": marker, "color": color, "label": "found" if hit else "not found"}
        left.plot([every.index(length) for length in part["length"]], part["depth"], linestyle="none", **look)
    left.set_xticks(range(len(every)), [style.length_label(length) for length in every])
    left.set(xlabel="tokens", ylabel="depth of the key", title="a", ylim=(1.02, -0.02), xlim=(-0.5, len(every) - 0.5))
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    counts = _counts(frame)
    for y, (_, hits, asked) in enumerate(counts):
        low, high = binomial_interval(hits, asked)
        right.plot([low, high], [y, y], color=style.GREY, linewidth=1)
        right.plot([hits / asked], [y], marker="o", color=style.BLUE)
    right.set_yticks(range(len(counts)), [label(way) for way, _, _ in counts])
    right.set(xlabel="share of keys found", title="b", xlim=(-0.02, 1.02))
    right.margins(y=0.1)
    return fig


def _counts(frame: Frame) -> list[tuple[str, int, int]]:
    """(way, found, asked) at the shortest length at which readers of parts are asked, the best last."""
    length = frame.loc[frame["way"] != AS_IS, "length"].min()
    own = frame[frame["length"] == length].groupby("way", sort=False)["correct"].agg(["sum", "size"])
    return sorted(((way, int(row["sum"]), int(row["size"])) for way, row in own.iterrows()), key=lambda each: each[1])


def caption_keys(frame: Frame) -> str:
    length = int(frame.loc[frame["way"] != AS_IS, "length"].min())
    asked = int(frame.groupby(["way", "length"]).size().max())
    within = " (within T)" if length <= frame["trained"].iloc[0] else ""
    return (
        f"Keys of five digits that {frame['model'].iloc[0]} finds in prose: a, as it is, by length and depth; b, "
        f"by the way to read {length:,} tokens{within}, with exact 95 % intervals. A text has one key, and "
        f"each length {asked} prompts."
    )


KEYS = FigureSpec(
    "pretrained_keys",
    draw_keys,
    caption_keys,
    notebook="pretrained_model",
    claims=("X-24", "X-25"),
    alt="Two panels: marks of keys that were found or not, by length and depth; and a row for each way to read with "
    "the share that it finds and its interval.",
)


# The prior that the heads of a pretrained model carry
WAYS = (("by_nothing", "uniform", style.GREY, "s"), ("by_ggd", "generalised Gaussian", style.ORANGE, "^"),
        ("by_lag", "any function of the lag", style.BLUE, "o"))  # fmt: skip
HALF = 0.5


def draw_heads(frame: Frame) -> Figure:
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
        look = {"marker": marker, "color": color, "label": ("first third", "middle", "last third")[which]}
        right.plot(own["sink"], own["key_ratio"], linestyle="none", markersize=2.5, **look)
    lines.level(right, 1)
    lines.place(right, HALF)
    right.set_yscale("log")
    right.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    right.yaxis.minorticks_off()
    right.set_ylim(heads["key_ratio"].min() / 1.2, heads["key_ratio"].max() * 1.2)
    right.set(xlabel="weight of the first key", ylabel="its norm / median key", title="b")
    right.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, columnspacing=1.0, handlelength=1.0)
    return fig


def caption_heads(frame: Frame) -> str:
    heads = len(frame[["layer", "head"]].drop_duplicates())
    return (
        f"{frame['model'].iloc[0]}, {heads} heads, {frame['document'].nunique()} documents: a, total variation between "
        f"attention and a prior of position alone; b, weight of the first key and its norm. Priors are fitted on other "
        f"queries of the same text, with a bias for the first key but for the uniform one, and panel a is a mean over "
        "heads. In b a mark is a head (those that share a key have its norm), layers by thirds: right of the dotted "
        f"line it gives the first key more than half; below the other line that key is shorter than the text's median."
    )


HEADS = FigureSpec(
    "pretrained_heads",
    draw_heads,
    caption_heads,
    notebook="pretrained_model",
    claims=("X-21", "X-23"),
    alt="Two panels: the distance of attention from three priors of position by layer, and for each head the weight of "
    "the first key against the norm of its key.",
)


# What a pretrained model loses without some of the keys, by layers
BASE = "nothing"
COLORS = (style.ORANGE, style.BLUE, style.GREEN)


def draw_eviction(frame: Frame) -> Figure:
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
    lines.place(ax, 0)
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_xlim(left=min(-0.05, 1.2 * min(middles)))
    ax.set_xlabel("loss above that with all keys (nats)")
    return fig


def caption_eviction(frame: Frame) -> str:
    return (
        f"{frame['model'].iloc[0]} without some of its keys: loss above that with all, mean of "
        f"{frame['document'].nunique()} documents with a 95 % t interval; grey: documents. "
        f"Hidden are the first four keys, the four nearest (a query keeps its own), or all between the first four and "
        f"the nearest 256, in all layers or in a third of them. The axis is linear within 0.1."
    )


EVICTION = FigureSpec(
    "pretrained_eviction",
    draw_eviction,
    caption_eviction,
    notebook="pretrained_model",
    claims=("X-22",),
    alt="A row for each region of keys and block of layers: the loss without these keys above that with all.",
)


# Keys that a pretrained model finds, by the number of heads that see the whole text
FAR_LOOKS = {"fetching": (style.BLUE, "o", (None, None)), "distance": (style.ORANGE, "^", (4, 1)),
         "random": (style.GREY, "s", (2, 1)), "others": (style.GREEN, "x", (1, 1))}  # fmt: skip
APART = 0.012  # of the width, by which orders stand beside each other


def draw_far(frame: Frame) -> Figure:
    every, heads = sorted(set(frame["length"])), int(frame["heads"].iloc[0])
    fig, axes = style.figure(style.DOUBLE if len(every) > 1 else style.MIDDLE, 2.5, ncols=len(every), squeeze=False)
    for ax, length, letter in zip(axes[0], every, "abcdef", strict=False):
        for k, (order, own) in enumerate(frame[frame["length"] == length].groupby("order", sort=False)):
            color, marker, dashes = FAR_LOOKS[order.partition("-")[0]]
            counts = own.groupby("far")["correct"].agg(["sum", "size"])
            at = counts.index + APART * heads * (k - 1)
            ends = np.array([binomial_interval(int(row["sum"]), int(row["size"])) for _, row in counts.iterrows()])
            ax.vlines(at, *ends.T, color=color, linewidth=0.8)
            look = lines.look(color, dashes, marker, ORDERS.get(order, order))
            ax.plot(at, counts["sum"] / counts["size"], **look)
        ax.set(
            xlabel="heads that see far",
            ylim=(-0.02, 1.02),
            xticks=sorted(set(frame["far"])),
            title=f"{letter}: {length:,} tokens" if len(every) > 1 else "",
        )
    axes[0][0].set_ylabel("share of keys found")
    style.legend(fig, [axes[0][0]], "lower center", ncols=2)
    return fig


def caption_far(frame: Frame) -> str:
    own = frame.iloc[0]
    ways = " and ".join(f"{length:,} tokens ({label(part['way'].iloc[0])})" for length, part in frame.groupby("length"))
    asked = int(frame.groupby(["order", "far", "length"]).size().max())
    return (
        f"Keys of five digits that {own['model']} finds when only some of its {own['heads']} heads see the whole text; "
        f"all others see {own['window']:,} keys and the first four. Texts have {ways}, {asked} prompts each, with "
        f"exact 95 % intervals; orders stand a little beside each other. Heads are ranked on prompts that are not "
        "asked here."
    )


FAR = FigureSpec(
    "pretrained_far",
    draw_far,
    caption_far,
    notebook="pretrained_model",
    claims=("X-27",),
    alt="The share of keys found against the number of heads that see far, a line for each order of the heads, with "
    "intervals.",
)
