"""Time and memory of one attention call with gradients on the CPU."""

import dataclasses

from attention_priors.figures import panels
from attention_priors.figures.spec import Figure, FigureSpec, Frame


def draw(frame: Frame) -> Figure:
    times = [
        dataclasses.replace(line, low=own["low"], high=own["high"])
        for line, (_, own) in zip(
            panels.series(frame, "keys", "milliseconds", "method"), frame.groupby("method", sort=False), strict=True
        )
    ]
    made = {
        "time, forward and backward (ms)": times,
        "memory at the peak (MB)": panels.series(frame, "keys", "memory", "method"),
    }
    axis = panels.lengths(frame["keys"]) | {"yscale": "log", "sharey": False, "legend": "above"}
    return panels.draw(made, "keys", "milliseconds; MB", height=1.8, **axis)[0]


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
    "kernel_backends",
    draw,
    caption,
    notebook="fused_kernel",
    columns=("method", "keys", "milliseconds", "low", "high", "memory"),
    alt="Time and memory of attention on a CPU by number of keys for three methods.",
)
