"""The fused kernels: speed, memory, errors, what bfloat16 does to carried priors, and skipped tiles."""

import numpy as np
import pandas as pd

from .. import config
from ..experiments import kernel_rows
from . import lines, panels, style
from .spec import Figure, FigureSpec, Frame, Rows, Size, TableSpec
from .words import farthest

# Speed of the kernels and of others on one GPU
GRAPH = "CUDA graph"
PREFILL = (
    "ours, learned prior",
    "ours, no bias",
    "SDPA flash, no bias",
    "SDPA cuDNN, no bias",
    "FlexAttention, frozen prior",
    "SDPA, bias in memory",
)
DECODING = {  # method, mode: label
    ("ours, formula", "eager"): "ours, eager",
    ("ours, formula", GRAPH): "ours, in a CUDA graph",
    ("SDPA, no bias", GRAPH): "SDPA without bias, in a graph",
    ("SDPA, no bias", "eager"): "SDPA without bias, eager",
}


SIZES = (  # as `attention.bench.kernels` has them
    "Prefill and local heads: 16 heads, 16,384 tokens in all or one longer sequence. Decoding: one query of 32 "
    "heads on 8 key heads."
)


def rows_speed(size: Size, seed: int) -> Frame:
    """The committed measurement; a GPU of your own: `make bench DEVICE=cuda`."""
    return pd.read_csv(config.ROOT / "data" / "gpu" / "gpu_speed.csv")


def draw_speed(frame: Frame) -> Figure:
    fig, axes = style.figure(style.DOUBLE, 2.6, ncols=3)
    part = frame[(frame["part"] == "prefill") & (frame["width"] == 128) & (frame["mode"] != GRAPH)]
    part = part[part["method"].isin(PREFILL)].sort_values("milliseconds")
    part = part.drop_duplicates(["method", "pass", "length"])  # the faster of eager and compiled
    for ax, (which, letter) in zip(axes, (("forward", "a"), ("backward", "b")), strict=False):
        for name, look in zip(PREFILL, lines.SERIES, strict=False):
            own = part[(part["pass"] == which) & (part["method"] == name)].sort_values("length")
            ax.plot(own["length"], own["tflops"], **lines.look(*look, name))
        ax.set(xlabel="tokens", ylabel="TFLOP/s", title=f"{letter}: {which}")
        style.length_axis(ax, sorted(part["length"].unique()))
    decoding = frame[frame["part"] == "decode"].set_index(["method", "mode"]).sort_index()
    for (name, label), look in zip(DECODING.items(), lines.SERIES, strict=False):
        if name in decoding.index:
            own = decoding.loc[[name]].sort_values("length")
            axes[2].plot(own["length"], own["milliseconds"], **lines.look(*look, label))
    axes[2].set(xlabel="cached keys", ylabel="milliseconds a token", title="c: decoding", xscale="log", yscale="log")
    if len(decoding):
        style.length_axis(axes[2], sorted(decoding["length"].unique()))
        axes[2].set_ylim(top=20 * decoding["milliseconds"].max())  # room for the legend
        axes[2].legend(loc="upper left", fontsize=style.SMALLEST)
    style.legend(fig, axes[:2], "lower center", ncols=3)
    return fig


def place(frame: Frame) -> str:
    return f"one {frame['device'].iloc[0]}, {' and '.join(sorted(frame['date'].unique()))}"


def caption_speed(frame: Frame) -> str:
    return (
        f"Attention in bfloat16 (width 128, causal) on {place(frame)}: medians of the faster of eager and compiled. "
        f"{SIZES} Panel a: with making the prior's table; b: with its parameters' gradients."
    )


SPEED_FIGURE = FigureSpec(
    "kernel_speed",
    draw_speed,
    caption_speed,
    notebook="fused_kernel",
    rows=rows_speed,
    alt="TFLOP per second by length for our kernels and others, forward and backward, and milliseconds of decoding.",
)


def build_speed(frame: Frame) -> Frame:
    """Milliseconds by length, a row per way to compute the same."""
    rows = frame.dropna(subset="milliseconds")
    wide = rows.pivot_table(
        "milliseconds", ["part", "width", "pass", "method", "mode"], "length", aggfunc="median", sort=False
    )
    shown = wide[sorted(wide)].map(lambda value: "–" if pd.isna(value) else f"{value:.3g}").reset_index()
    return shown.rename(columns=lambda name: f"ms at {name:,}" if isinstance(name, int) else name)


def caption_speed_table(frame: Frame) -> str:
    return (
        f"Milliseconds of one call, median, on {place(frame)}: bfloat16, causal. {SIZES} Training: a step of a whole "
        "model of that width."
    )


SPEED_TABLE = TableSpec(
    "kernel_speed",
    build_speed,
    caption_speed_table,
    notebook="fused_kernel",
    rows=rows_speed,
)


# Time and memory of one attention call with gradients on the CPU
def draw_backends(frame: Frame) -> Figure:
    times = [
        panels.Line(own["keys"], own["milliseconds"], look, own["low"], own["high"])
        for look, own in lines.grouped(frame, "method")
    ]
    made = {
        "time, forward and backward (ms)": times,
        "memory at the peak (MB)": panels.series(frame, "keys", "memory", "method"),
    }
    axis = panels.lengths(frame["keys"]) | {"yscale": "log", "sharey": False, "legend": "above"}
    return panels.draw(made, "keys", "milliseconds; MB", height=1.8, **axis)[0]


def caption_backends(frame: Frame) -> str:
    by = farthest(frame).set_index("method")
    ours, stored, none = (by.loc[name] for name in ("ours, learned prior", "bias in memory", "no prior"))
    return (
        "One attention call with gradients on the CPU, 4 heads of width 64: median and range of rounds in turn, and "
        f"the most memory that tensors held. At {int(frame['keys'].max()):,} keys a bias in memory takes "
        f"{stored['memory'] / ours['memory']:.1f} times our memory and "
        f"{stored['milliseconds'] / ours['milliseconds']:.1f} times our time; without a prior attention takes "
        f"{none['memory'] / ours['memory']:.2f} of our memory and {none['milliseconds'] / ours['milliseconds']:.2f} of "
        "our time."
    )


BACKENDS = FigureSpec(
    "kernel_backends",
    draw_backends,
    caption_backends,
    notebook="fused_kernel",
    alt="Time and memory of attention on a CPU by number of keys for three methods.",
)


# Errors of output and gradients in bfloat16, PyTorch beside our kernels
RESULTS = {
    "out": "o",
    "q": "dq",
    "k": "dk",
    "v": "dv",
    "theta_alpha": r"d$\theta_\alpha$",
    "theta_beta": r"d$\theta_\beta$",
    "theta_mu": r"d$\theta_\mu$",
}
ERRORS_WAYS = (
    ("plain", -0.15, style.GREY, "s", "PyTorch, bfloat16"),
    ("kernel", 0.15, style.ORANGE, "o", "our kernels, bfloat16"),
)


SEEDS, TOKENS = (0, 1, 2), 40


def rows_errors(size: Size, seed: int) -> Rows:
    return kernel_rows.errors(length=TOKENS, seeds=SEEDS)


def draw_errors(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.4)
    names = [name for name in RESULTS if name in set(frame["result"])]
    for way, shift, color, marker, label in ERRORS_WAYS:
        if way not in set(frame["way"]):
            continue
        errors = frame[frame["way"] == way].set_index("result")["error"]
        for index, name in enumerate(names):
            values = errors[[name]]
            ax.plot([index + shift] * len(values), values, ".", color=color, markersize=2.5)
            look = {"marker": marker, "linestyle": "", "label": label if index == 0 else "_"}
            ax.plot(index + shift, values.median(), color=color, **look)
    ax.set_xticks(range(len(names)), [RESULTS[name] for name in names])
    ax.set(yscale="log", ylabel="relative error to float64")
    ax.legend(loc="lower left")
    return fig


def caption_errors(frame: Frame) -> str:
    middle = frame.groupby(["way", "result"])["error"].median()
    text = (
        f"Error of the output and of every gradient at the same bfloat16 inputs, {TOKENS} tokens, 2 heads of width 16; "
        "PyTorch keeps scores, bias and weights in bfloat16; points are seeds, markers medians."
    )
    if "kernel" in set(frame["way"]):
        ratio = max(middle["kernel", name] / middle["plain", name] for name in RESULTS)
        best = middle["plain", "theta_beta"] / middle["kernel", "theta_beta"]
        text += (
            f" By medians the kernels, in Triton's interpreter, err at most {ratio:.1f} times as much everywhere; the "
            f"gradient of the shape, by scores in float32 and rows that sum to zero, is {np.log10(best):.0f} orders of "
            "magnitude more accurate."
        )
    return text


ERRORS = FigureSpec(
    "kernel_errors",
    draw_errors,
    caption_errors,
    notebook="fused_kernel",
    claims=("X-17",),
    rows=rows_errors,
    alt="Relative errors of output and gradients in bfloat16, PyTorch beside our kernels, on a log scale.",
)


# What rounding to bfloat16 moves in priors that are carried by coordinates of queries and keys
ROUNDING_WAYS = {
    "product": "coordinates in bfloat16",
    "split": "coordinates in three parts",
    "added": "added in float32",
    "content": "content alone",
}


def rows_rounding(size: Size, seed: int) -> Rows:
    lengths = (size.length // 4, size.length, 4 * size.length, 32 * size.length)
    return kernel_rows.low_precision(lengths, SEEDS)


def draw_rounding(frame: Frame) -> Figure:
    middle = frame.groupby(["carrier", "how", "keys"], sort=False)["variation"].median().clip(lower=1e-9).reset_index()
    looks = {how: (*look, said) for look, (how, said) in zip(lines.SERIES, ROUNDING_WAYS.items(), strict=False)}
    made = {name: panels.series(own, "keys", "variation", "how", looks) for name, own in middle.groupby("carrier")}
    axis = panels.lengths(frame["keys"]) | {"yscale": "log", "legend": "above", "ncols": 2}
    return panels.draw(made, "keys", "total variation", height=1.7, **axis)[0]


def caption_rounding(frame: Frame) -> str:
    longest = farthest(frame)
    moved = longest[longest["how"] == "product"].groupby("carrier")["variation"].median()
    listed = ", ".join(f"{name} {value:.2g}" for name, value in moved.items())
    return (
        "How far rounding to bfloat16 moves the weights of the last query (0 not at all, 1 entirely), for priors that "
        "are coordinates of queries and keys. Values below 1e-9 are drawn there. Slopes 1/4; four cosines of amplitude "
        f"5. At {int(frame['keys'].max()):,} keys: {listed}."
    )


ROUNDING = FigureSpec(
    "kernel_low_precision",
    draw_rounding,
    caption_rounding,
    notebook="fused_kernel",
    rows=rows_rounding,
    alt="Three panels: total variation by number of keys for priors carried by coordinates or added.",
)


# Share of the causal tiles that must be computed when tiles of negligible weight are skipped
def rows_tiles(size: Size, seed: int) -> Rows:
    lengths = [size.length * 2**step for step in range(1, 8)]
    return kernel_rows.tiles_kept(lengths, contents=(2.0, 8.0), tolerance=2.0**-10)


def draw_tiles(frame: Frame) -> Figure:
    made = {
        f"content within ± {content:g}": panels.series(own, "keys", "kept", "prior")
        for content, own in frame.groupby("content")
    }
    axis = panels.lengths(frame["keys"]) | {"ylim": (0, 1.05)}
    return panels.draw(made, "keys", "share of tiles computed", height=1.6, legend="above", **axis)[0]


def caption_tiles(frame: Frame) -> str:
    final = frame[(frame["keys"] == frame["keys"].max()) & (frame["content"] == frame["content"].max())]
    listed = ", ".join(f"{row.kept:.0%} ({row.prior})" for row in final.itertuples())
    return (
        "Share of the causal tiles of 128 x 128 that must be computed so that no row loses more than 2^-10 of its "
        "weight, by the bound of this notebook, which holds for any content of the range given. At "
        f"{int(frame['keys'].max()):,} keys and a range of {frame['content'].max():g}: {listed}."
    )


TILES = FigureSpec(
    "kernel_tiles",
    draw_tiles,
    caption_tiles,
    notebook="fused_kernel",
    rows=rows_tiles,
    alt="Share of tiles computed by number of keys for three priors and two ranges of content.",
)
