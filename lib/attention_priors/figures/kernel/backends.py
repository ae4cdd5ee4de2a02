"""Time and memory of one attention call with gradients on the CPU."""

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame


def draw(frame: Frame) -> Figure:
    fig, (times, memory) = style.figure(style.SINGLE, 3.4, nrows=2, sharex=True)
    for (color, dashes, marker), (name, part) in zip(lines.SERIES, frame.groupby("method", sort=False), strict=False):
        times.plot(part["keys"], part["milliseconds"], color=color, dashes=dashes, marker=marker, label=name)
        style.interval_bars(times, part["keys"], part["low"], part["high"], color, right=style.aside(times))
        memory.plot(part["keys"], part["memory"], color=color, dashes=dashes, marker=marker, label=name)
    times.set(yscale="log", ylabel="milliseconds", title="time, forward and backward")
    memory.set(yscale="log", xlabel="keys", ylabel="MB", title="memory at the peak")
    for ax in (times, memory):
        style.length_axis(ax, sorted(frame["keys"].unique()))
    times.legend(loc="upper left")
    return fig


def caption(frame: Frame) -> str:
    by = frame[frame["keys"] == frame["keys"].max()].set_index("method")
    ours, stored = by.loc["ours, learned prior"], by.loc["bias in memory"]
    return (
        "One attention call with gradients on the CPU, 4 heads of width 64: median and range of rounds in turn, and "
        f"the most memory that tensors held. At {int(frame['keys'].max()):,} keys a bias in memory takes "
        f"{stored['memory'] / ours['memory']:.1f} times our memory and "
        f"{stored['milliseconds'] / ours['milliseconds']:.1f} times our time."
    )


FIGURE = FigureSpec(
    "kernel_backends", draw, caption, notebook="fused_kernel",
    columns=("method", "keys", "milliseconds", "low", "high", "memory"),
    alt="Time and memory of attention on a CPU by number of keys for three methods.",
)  # fmt: skip
