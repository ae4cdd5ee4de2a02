"""Loss while training, and every run's final loss."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.curves import seed_row, t_interval
from attention_priors.figures.language.rows import COLUMNS, groups, named_seeds, style_of
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals

MARKED = 5  # markers on each curve
LAST = 0.1  # share of the steps whose mean loss counts as the final one


def _last(frame: Frame) -> Frame:
    """Mean training loss over the last tenth of the steps of each run."""
    end = frame[frame["step"] > (1 - LAST) * frame.groupby(["encoding", "times"])["step"].transform("max")]
    return end.groupby(list(COLUMNS), as_index=False)["loss"].mean()


def draw(frame: Frame) -> Figure:
    """Left the mean loss over seeds, right every run's final loss."""
    rivals(frame, "encoding", "training losses")
    fig, (left, right) = style.figure(style.DOUBLE, 2.6, ncols=2, width_ratios=(1.25, 1))
    last, curves = _last(frame), dict(groups(frame))
    ends, order = [], sorted(groups(last), key=lambda each: each[1]["loss"].mean())
    for y, (name, rows) in enumerate(order):
        curve, look, own = curves[name].groupby("step")["loss"].mean(), style_of(name), rows["loss"]
        # One marker in a stretch of the line, elsewhere on each line.
        every = (y * len(curve) // MARKED // len(order), max(len(curve) // MARKED, 1))
        left.plot(curve.index, curve, **look, linewidth=0.8, markevery=every)
        seed_row(right, own, y, look)
        ends += t_interval(own)
    left.set(xlabel="step", ylabel="training loss (nats)")
    right.set_yticks(range(len(order)), [style_of(name)["label"] for name, _ in order])
    for tick, (name, _) in zip(right.get_yticklabels(), order, strict=True):
        tick.set_color(style.darken(style_of(name)["color"]))
    right.margins(y=0.06)
    right.set_xlabel("loss over the last tenth of the steps (nats)")
    spare = 0.02 * last["loss"].mean()  # at least: a small difference must look small
    right.set_xlim(np.nanmin([last["loss"].min() - spare, *ends]), np.nanmax([last["loss"].max() + spare, *ends]))
    return fig


def caption(frame: Frame) -> str:
    last = {style_of(name)["label"]: own["loss"].mean() for name, own in groups(_last(frame))}
    lowest, highest = (pick(last, key=last.get) for pick in (min, max))
    usual = frame[frame["times"] == 1]
    return (
        f"Loss on the training windows. Left: mean over seeds, each point a mean of {int(usual['window'].iloc[0])} "
        "steps, colours and markers as on the right. Right: mean of the last tenth of the steps, a mark for each seed, "
        f"bar: 95 % t interval of their mean; lowest is {lowest} ({last[lowest]:.3f}), highest "
        f"{highest} ({last[highest]:.3f}). RoPE Local is RoPE, read through a window after training; "
        f"{named_seeds(frame)}."
    )


FIGURE = FigureSpec(
    "language_training", draw, caption, notebook="language_models",
    columns=(*COLUMNS, "step", "loss", "window"),
    alt="Left: training loss falling with the step, a line for each encoding. Right: a row for each with a mark "
    "for every seed at its final loss.",
)  # fmt: skip
