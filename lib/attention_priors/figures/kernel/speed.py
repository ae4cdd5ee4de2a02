"""Speed of the kernels and of others on one GPU: prefill and decoding as a picture, every measurement in the table."""

import pandas as pd

from attention_priors import config
from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, TableSpec

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
}


def rows(size: Size, seed: int) -> Frame:
    """The committed measurement; a GPU of your own: `make bench DEVICE=cuda`."""
    return pd.read_csv(config.ROOT / "data" / "gpu" / "gpu_speed.csv")


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.DOUBLE, 2.6, ncols=3)
    part = frame[(frame["part"] == "prefill") & (frame["width"] == 128) & (frame["mode"] != GRAPH)]
    part = part[part["method"].isin(PREFILL)].sort_values("milliseconds")
    part = part.drop_duplicates(["method", "pass", "length"])  # the faster of eager and compiled
    looks = dict(zip(PREFILL, lines.SERIES, strict=False))
    for ax, (which, letter) in zip(axes, (("forward", "a"), ("backward", "b")), strict=False):
        for name, (color, dashes, marker) in looks.items():
            own = part[(part["pass"] == which) & (part["method"] == name)].sort_values("length")
            ax.plot(own["length"], own["tflops"], label=name, color=color, dashes=dashes, marker=marker)
        ax.set(xlabel="tokens", ylabel="TFLOP/s", title=f"{letter}: {which}")
        style.length_axis(ax, sorted(part["length"].unique()))
    decoding = frame[frame["part"] == "decode"].set_index(["method", "mode"]).sort_index()
    for (name, label), (color, dashes, marker) in zip(DECODING.items(), lines.SERIES, strict=False):
        if name in decoding.index:
            own = decoding.loc[[name]].sort_values("length")
            axes[2].plot(own["length"], own["milliseconds"], label=label, color=color, dashes=dashes, marker=marker)
    axes[2].set(xlabel="cached keys", ylabel="milliseconds a token", title="c: decoding", xscale="log", yscale="log")
    if len(decoding):
        style.length_axis(axes[2], sorted(decoding["length"].unique()))
        axes[2].set_ylim(top=20 * decoding["milliseconds"].max())  # room for the legend
        axes[2].legend(loc="upper left", fontsize=style.SMALLEST)
    handles = {label: line for ax in axes[:2] for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=3)
    return fig


def place(frame: Frame) -> str:
    return f"one {frame['device'].iloc[0]}, {' and '.join(sorted(frame['date'].unique()))}"


def caption(frame: Frame) -> str:
    return (
        f"Attention in bfloat16 (width 128, 16 heads, causal) on {place(frame)}: medians of the faster of eager and "
        "compiled, with the prior's table (a) and its parameters' gradients (b). c: one token."
    )


FIGURE = FigureSpec(
    "kernel_speed",
    draw,
    caption,
    notebook="fused_kernel",
    columns=("part", "method", "mode", "width", "length", "pass", "milliseconds", "tflops", "device", "date"),
    rows=rows,
    alt="TFLOP per second by length for our kernels and others, forward and backward, and milliseconds of decoding.",
)


def build(frame: Frame) -> Frame:
    """Milliseconds by length, a row per way to compute the same."""
    rows = frame.dropna(subset="milliseconds")
    wide = rows.pivot_table(
        "milliseconds", ["part", "width", "pass", "method", "mode"], "length", aggfunc="median", sort=False
    )
    shown = wide[sorted(wide)].map(lambda value: "–" if pd.isna(value) else f"{value:.3g}").reset_index()
    return shown.rename(columns=lambda name: f"ms at {name:,}" if isinstance(name, int) else name)


def caption_table(frame: Frame) -> str:
    return f"Milliseconds of one call, median, on {place(frame)}: bfloat16, 16 heads, causal."


TABLE = TableSpec("kernel_speed", build, caption_table, notebook="fused_kernel", columns=FIGURE.columns, rows=rows)
