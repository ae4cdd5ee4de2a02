"""Loss while training, and every run's final loss."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.curves import seed_row, t_interval
from attention_priors.figures.methods import label, look, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame

MARKED = 5  # markers on each curve
LAST = 0.1  # share of the steps whose mean loss counts as the final one


def _last(frame: Frame) -> Frame:
    """Mean training loss over the last tenth of the steps of each run."""
    end = frame[frame["step"] > (1 - LAST) * frame["step"].max()]
    return end.groupby(["encoding", "seed"], as_index=False)["loss"].mean()


def draw(frame: Frame) -> Figure:
    """Left the mean loss over seeds, right every run's final loss."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.6, ncols=2, width_ratios=(1.25, 1))
    last = _last(frame)
    order = last.groupby("encoding")["loss"].mean().sort_values(kind="stable").index
    ends = []
    for y, name in enumerate(order):
        curve = frame[frame["encoding"] == name].groupby("step")["loss"].mean()
        # One marker in a stretch of the line, elsewhere on each line.
        every = (y * len(curve) // MARKED // len(order), max(len(curve) // MARKED, 1))
        left.plot(curve.index, curve, **look(name), linewidth=0.8, markevery=every)
        own = last[last["encoding"] == name]["loss"]
        seed_row(right, own, y, look(name), 4)
        ends += t_interval(own)
    left.set(xlabel="step", ylabel="training loss (nats)")
    right.set_yticks(range(len(order)), [label(name) for name in order])
    for tick, name in zip(right.get_yticklabels(), order, strict=True):
        tick.set_color(style.darken(look(name)["color"]))
    right.margins(y=0.06)
    right.set_xlabel("loss over the last tenth of the steps (nats)")
    spare = 0.02 * last["loss"].mean()  # at least: a small difference must look small
    right.set_xlim(np.nanmin([last["loss"].min() - spare, *ends]), np.nanmax([last["loss"].max() + spare, *ends]))
    return fig


def caption(frame: Frame) -> str:
    last = _last(frame).groupby("encoding")["loss"].mean()
    return (
        f"Loss on the training windows. Left: mean over seeds, each point a mean of {int(frame['window'].iloc[0])} "
        "steps, colours and markers as on the right. Right: mean of the last tenth of the steps, a mark for each seed, "
        f"bar: 95 % t interval of their mean; lowest is {label(last.idxmin())} ({last.min():.3f}), highest "
        f"{label(last.idxmax())} ({last.max():.3f}). RoPE Local is RoPE, read through a window after training; "
        f"{named_seeds(frame)}."
    )


FIGURE = FigureSpec(
    "language_training", draw, caption, notebook="language_models",
    columns=("encoding", "seed", "step", "loss", "window"),
    alt="Left: training loss falling with the step for ten encodings. Right: a row for each encoding with a mark for "
    "every seed at its final loss.",
)  # fmt: skip
