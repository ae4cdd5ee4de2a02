"""The fused kernels: instructions per score, errors, what bfloat16 does to carried priors, skipped tiles, speed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec

NOTEBOOK = "08_fused_kernel"
BLACK, GREEN, PINK, BLUE, ORANGE, GREY = "#000000", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#7F7F7F"
SERIES = ((BLUE, style.SOLID, "o"), (ORANGE, (5, 1.5), "s"), (GREEN, (3, 1), "^"), (PINK, (1, 1), "D"),
          (BLACK, (5, 1, 1, 1), "v"), (GREY, (2, 2), "P"))  # fmt: skip
KERNELS = {
    "forward": "forward",
    "backward_queries": "backward: dq, dθ",
    "backward_keys": "backward: dk, dv",
    "backward_table": "backward: dT",
}
RESULTS = {"out": "o", "q": "dq", "k": "dk", "v": "dv", "theta_alpha": r"d$\theta_\alpha$",
           "theta_beta": r"d$\theta_\beta$", "theta_mu": r"d$\theta_\mu$"}  # fmt: skip
SLOTS = {"forward": 16, "backward_queries": 24, "backward_keys": 32, "backward_table": 24}  # of the matrix products
NUMBER = 2.5  # instructions along the axis that a printed number covers


def draw_instructions(frame: pd.DataFrame) -> Figure:
    """Columns kernel, variant, instructions: a bar per variant, and the slots that the matrix products take anyway."""
    fig, ax = style.figure(style.DOUBLE, 2.6)
    labels = [f"{KERNELS[row.kernel]}; {row.variant}" for row in frame.itertuples()]
    place = np.arange(len(frame))[::-1]
    colors = [GREY if row.variant == "no bias" else BLUE for row in frame.itertuples()]
    bars = ax.barh(place, frame["instructions"].fillna(0), color=colors, height=0.62)
    for bar, row in zip(bars, frame.itertuples(), strict=True):
        end, slot = bar.get_width(), SLOTS[row.kernel]
        if row.variant == "no bias":
            bar.set_hatch("///")
            bar.set_edgecolor("white")
        ax.plot([slot] * 2, [bar.get_y() - 0.08, bar.get_y() + 0.7], color=ORANGE, linewidth=1.6, zorder=1)
        text = "not compiled here" if np.isnan(row.instructions) else f"{row.instructions:.1f}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        free = slot if 0 < slot - end < NUMBER else end  # a number between the two would hide the slot
        ax.annotate(text, (free, bar.get_y() + 0.31), xytext=(3, 0), textcoords="offset points", va="center",
                    fontsize=style.SMALLEST, bbox=box)  # fmt: skip
    ax.set_xlim(right=np.nanmax([*frame["instructions"], *SLOTS.values()]) + NUMBER)
    ax.set_yticks(place, labels)
    ax.set(xlabel="instructions per score (orange strokes: issue slots while the tensor cores are busy)")
    ax.grid(axis="y", visible=False)
    return fig


def caption_instructions(frame: pd.DataFrame) -> str:
    by = frame.set_index(["kernel", "variant"])["instructions"]
    if by.isna().any():
        return "Triton is not installed on the machine that made this figure."
    more = by["forward", "table"] / by["forward", "no bias"] - 1
    return (
        "Instructions that a score costs in the main loop of each kernel, counted in code compiled for an H100 or H200 "
        "(sm_90, bfloat16, width 128). Hatched: the same kernel without a bias. Orange: the slots in which "
        f"instructions can issue while the matrix products of the score run. The table adds {more:.0%} to the forward "
        "pass."
    )


def draw_errors(frame: pd.DataFrame) -> Figure:
    """Columns way, result, seed, error: a point per seed, and the median of each way."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    names = [name for name in RESULTS if name in set(frame["result"])]
    for shift, (way, color, marker, label) in zip(
        (-0.15, 0.15), (("plain", GREY, "s", "PyTorch, bfloat16"), ("kernel", ORANGE, "o", "our kernels, bfloat16")),
        strict=True,
    ):  # fmt: skip
        part = frame[frame["way"] == way]
        if part.empty:
            continue
        for index, name in enumerate(names):
            values = part.loc[part["result"] == name, "error"]
            ax.plot([index + shift] * len(values), values, ".", color=color, markersize=2.5, alpha=0.6)
            look = {"marker": marker, "linestyle": "", "label": label if index == 0 else "_"}
            ax.plot(index + shift, values.median(), color=color, **look)
    ax.set_xticks(range(len(names)), [RESULTS[name] for name in names])
    ax.set(yscale="log", ylabel="relative error to float64")
    ax.legend(loc="lower left")
    return fig


def caption_errors(frame: pd.DataFrame) -> str:
    middle = frame.groupby(["way", "result"])["error"].median()
    text = "Error of the output and of every gradient at the same bfloat16 inputs; points are seeds, markers medians."
    if "kernel" in set(frame["way"]):
        ratio = max(middle["kernel", name] / middle["plain", name] for name in RESULTS)
        best = middle["plain", "theta_beta"] / middle["kernel", "theta_beta"]
        text += (
            f" The kernels' error is at most {ratio:.1f} times PyTorch's everywhere; the gradients of the parameters, "
            f"whose row sums they make exact, are {np.log10(best):.0f} orders of magnitude more accurate for the shape."
        )
    return text


def draw_low_precision(frame: pd.DataFrame) -> Figure:
    """Columns carrier, keys, how, variation: what rounding to bfloat16 moves, by length."""
    carriers = list(dict.fromkeys(frame["carrier"]))
    fig, axes = style.figure(style.DOUBLE, 2.3, ncols=len(carriers), sharey=True)
    ways = {"product": "coordinates in bfloat16", "split": "coordinates in three parts", "added": "added in float32",
            "content": "content alone"}  # fmt: skip
    for ax, carrier in zip(axes, carriers, strict=True):
        for (color, dashes, marker), (how, label) in zip(SERIES, ways.items(), strict=False):
            part = frame[(frame["carrier"] == carrier) & (frame["how"] == how)]
            middle = part.groupby("keys")["variation"].median().clip(lower=1e-9)
            ax.plot(middle.index, middle, color=color, dashes=dashes, marker=marker, label=label)
        ax.set(yscale="log", xlabel="keys", title=carrier)
        style.length_axis(ax, sorted(frame["keys"].unique()))
    axes[0].set_ylabel("total variation")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return fig


def caption_low_precision(frame: pd.DataFrame) -> str:
    longest = frame[frame["keys"] == frame["keys"].max()]
    moved = longest[longest["how"] == "product"].groupby("carrier")["variation"].median()
    listed = ", ".join(f"{name} {value:.2g}" for name, value in moved.items())
    return (
        "How far rounding to bfloat16 moves the weights of the last query (0 not at all, 1 entirely), for priors that "
        "are coordinates of queries and keys. Values below 1e-9 are drawn there. Slopes 1/4; four cosines of amplitude "
        f"5. At {int(frame['keys'].max()):,} keys: {listed}."
    )


def draw_tiles(frame: pd.DataFrame) -> Figure:
    """Columns prior, keys, content, kept: share of the causal tiles that the bound keeps."""
    contents = sorted(frame["content"].unique())
    fig, axes = style.figure(style.DOUBLE, 2.4, ncols=len(contents), sharey=True)
    for ax, content in zip(axes, contents, strict=True):
        part = frame[frame["content"] == content]
        for (color, dashes, marker), (name, rows) in zip(SERIES, part.groupby("prior", sort=False), strict=False):
            ax.plot(rows["keys"], rows["kept"], color=color, dashes=dashes, marker=marker, label=name)
        ax.set(xlabel="keys", ylim=(0, 1.05), title=f"content within ± {content:g}")
        style.length_axis(ax, sorted(frame["keys"].unique()))
    axes[0].set_ylabel("share of tiles computed")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def caption_tiles(frame: pd.DataFrame) -> str:
    last = frame[(frame["keys"] == frame["keys"].max()) & (frame["content"] == frame["content"].max())]
    listed = ", ".join(f"{row.kept:.0%} ({row.prior})" for row in last.itertuples())
    return (
        "Share of the causal tiles of 128 x 128 that must be computed so that no row loses more than 2^-10 of its "
        "weight, by the bound of this notebook, which holds for any content of the range given. At "
        f"{int(frame['keys'].max()):,} keys and a range of {frame['content'].max():g}: {listed}."
    )


def draw_backends(frame: pd.DataFrame) -> Figure:
    """Columns method, keys, milliseconds, low, high, memory: forward and backward on the CPU."""
    fig, (times, memory) = style.figure(style.DOUBLE, 2.2, ncols=2)
    for (color, dashes, marker), (name, rows) in zip(SERIES, frame.groupby("method", sort=False), strict=False):
        times.plot(rows["keys"], rows["milliseconds"], color=color, dashes=dashes, marker=marker, label=name)
        style.interval_band(times, rows["keys"], rows["low"], rows["high"], color=color, dashes=dashes)
        memory.plot(rows["keys"], rows["memory"], color=color, dashes=dashes, marker=marker, label=name)
    times.set(yscale="log", xlabel="keys", ylabel="milliseconds", title="time, forward and backward")
    memory.set(yscale="log", xlabel="keys", ylabel="MB", title="memory at the peak")
    for ax in (times, memory):
        style.length_axis(ax, sorted(frame["keys"].unique()))
    times.legend(loc="upper left")
    return fig


def caption_backends(frame: pd.DataFrame) -> str:
    last = frame[frame["keys"] == frame["keys"].max()].set_index("method")
    ours, stored = last.loc["ours, learned prior"], last.loc["bias in memory"]
    return (
        "One attention call with gradients on the CPU, 4 heads of width 64: median and range of rounds in turn, and "
        f"the most memory that tensors held. At {int(frame['keys'].max()):,} keys a bias in memory takes "
        f"{stored['memory'] / ours['memory']:.1f} times our memory and "
        f"{stored['milliseconds'] / ours['milliseconds']:.1f} times our time."
    )


def draw_speed(frame: pd.DataFrame) -> Figure:
    """Columns part, method, width, length, pass, tflops, low, high: the prefill of a GPU at width 128."""
    fig, axes = style.figure(style.DOUBLE, 2.6, ncols=2, sharey=True)
    part = frame[(frame["part"] == "prefill") & (frame["width"] == 128) & frame["milliseconds"].notna()]
    for ax, which in zip(axes, ("forward", "backward"), strict=True):
        shown = part[part["pass"] == which]
        styles = [(*one, "full") for one in SERIES] + [(*one, "none") for one in SERIES]
        groups = shown.groupby("method", sort=False)
        for (color, dashes, marker, fill), (name, rows) in zip(styles, groups, strict=False):
            look = {"color": color, "dashes": dashes, "marker": marker, "fillstyle": fill}
            ax.plot(rows["length"], rows["tflops"], label=name, **look)
        ax.set(xlabel="tokens", title=which)
        style.length_axis(ax, sorted(part["length"].unique()))
    axes[0].set_ylabel("TFLOP/s")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_speed(frame: pd.DataFrame) -> str:
    return (
        f"Attention in bfloat16 at width 128, 16 heads, causal, on one {frame['device'].iloc[0]}; medians, L2 cache "
        "flushed. Times include the table of the prior and the gradients of its parameters."
    )


def table_speed(frame: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds with quantiles and extra memory, a row per measurement."""
    kept = frame[[c for c in ("part", "method", "width", "length", "pass", "milliseconds", "low", "high", "tflops",
                              "extra_mb", "bandwidth", "note") if c in frame]]  # fmt: skip
    return kept.rename(columns={"low": "20 %", "high": "80 %", "tflops": "TFLOP/s", "extra_mb": "extra MB"})


FIGURES = {
    "kernel_instructions": FigureSpec(
        "kernel_instructions", draw_instructions, caption_instructions,
        "Bars of instructions per attention score for each kernel with and without a bias table.", "", NOTEBOOK),
    "kernel_errors": FigureSpec(
        "kernel_errors", draw_errors, caption_errors,
        "Relative errors of output and gradients in bfloat16, PyTorch beside our kernels, on a log scale.", "",
        NOTEBOOK),
    "kernel_low_precision": FigureSpec(
        "kernel_low_precision", draw_low_precision, caption_low_precision,
        "Three panels: total variation by number of keys for priors carried by coordinates or added.", "", NOTEBOOK),
    "kernel_tiles": FigureSpec(
        "kernel_tiles", draw_tiles, caption_tiles,
        "Share of tiles computed by number of keys for three priors and two ranges of content.", "", NOTEBOOK),
    "kernel_backends": FigureSpec(
        "kernel_backends", draw_backends, caption_backends,
        "Time and memory of attention on a CPU by number of keys for three methods.", "", NOTEBOOK),
    "kernel_speed": FigureSpec(
        "kernel_speed", draw_speed, caption_speed,
        "TFLOP per second by length for our kernels and others, forward and backward.", "", NOTEBOOK),
}  # fmt: skip
TABLES = {
    "kernel_speed": TableSpec(
        "kernel_speed", table_speed, lambda frame: f"The kernels' benchmark on one {frame['device'].iloc[0]}.", "",
        NOTEBOOK),
}  # fmt: skip
