"""Speed of the kernels and of others on one GPU: the prefill as a picture, every measurement in the table."""

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec

SHOWN = ("part", "method", "width", "length", "pass", "milliseconds", "low", "high", "tflops", "extra_mb", "bandwidth",
         "note")  # fmt: skip


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 2.6, ncols=2, sharey=True)
    part = frame[(frame["part"] == "prefill") & (frame["width"] == 128) & frame["milliseconds"].notna()]
    looks = [(*one, fill) for fill in ("full", "none") for one in lines.SERIES]
    for ax, which in zip(axes, ("forward", "backward"), strict=True):
        groups = part[part["pass"] == which].groupby("method", sort=False)
        for (color, dashes, marker, fill), (name, rows) in zip(looks, groups, strict=False):
            look = {"color": color, "dashes": dashes, "marker": marker, "fillstyle": fill}
            ax.plot(rows["length"], rows["tflops"], label=name, **look)
        ax.set(xlabel="tokens", title=which)
        style.length_axis(ax, sorted(part["length"].unique()))
    axes[0].set_ylabel("TFLOP/s")
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption(frame: Frame) -> str:
    return (
        f"Attention in bfloat16 at width 128, 16 heads, causal, on one {frame['device'].iloc[0]}; medians, L2 cache "
        "flushed. Times include the table of the prior and the gradients of its parameters."
    )


FIGURE = FigureSpec(
    "kernel_speed", draw, caption, notebook="fused_kernel",
    columns=("part", "method", "width", "length", "pass", "milliseconds", "tflops", "device"),
    alt="TFLOP per second by length for our kernels and others, forward and backward.",
)  # fmt: skip


def build(frame: Frame) -> Frame:
    """Milliseconds with quantiles and extra memory, a row per measurement."""
    kept = frame[[column for column in SHOWN if column in frame]]
    return kept.rename(columns={"low": "20 %", "high": "80 %", "tflops": "TFLOP/s", "extra_mb": "extra MB"})


def caption_table(frame: Frame) -> str:
    return f"The kernels' benchmark on one {frame['device'].iloc[0]}."


TABLE = TableSpec(
    "kernel_speed", build, caption_table, notebook="fused_kernel", columns=(*FIGURE.columns, "low", "high")
)
