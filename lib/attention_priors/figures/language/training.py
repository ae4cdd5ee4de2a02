"""Loss while training, a panel for each encoding."""

from textwrap import fill

from attention_priors.figures import style
from attention_priors.figures.curves import t_interval
from attention_priors.figures.language.rows import COLUMNS, groups, named_seeds, style_of
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import bounded

ACROSS = 4  # panels in a row
LETTERS = 24  # of a name in a line above its panel
HIGHEST = 8.0  # inches of all rows of panels, so that a page holds them
LAST = 0.1  # share of the steps whose mean loss counts as the final one


def _last(frame: Frame) -> Frame:
    """Mean training loss over the last tenth of the steps of each run."""
    end = frame[frame["step"] > (1 - LAST) * frame.groupby(["encoding", "times"])["step"].transform("max")]
    return end.groupby(list(COLUMNS), as_index=False)["loss"].mean()


def draw(frame: Frame) -> Figure:
    """A panel an encoding, from the lowest final loss: a line a seed, the other encodings' means in grey behind."""
    rivals(frame, "encoding", "training losses")
    curves, last = dict(groups(frame)), dict(groups(_last(frame)))
    order = sorted(last, key=lambda name: last[name]["loss"].mean())
    means = {name: own.groupby("step")["loss"].mean() for name, own in curves.items()}
    down = -(-len(order) // ACROSS)
    fig, axes = style.figure(
        style.DOUBLE, 0.5 + min(1.25 * down, HIGHEST), nrows=down, ncols=ACROSS, sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(style.panels(axes, len(order)), order, strict=True):
        look = style_of(name)
        for other in order:
            ax.plot(means[other], color=style.PALE, linewidth=0.4, alpha=0.7, label="_other")
        for _, own in curves[name].groupby("seed"):
            ax.plot(own["step"], own["loss"], color=look["color"], linewidth=0.7, label="_seed")
        final = last[name]["loss"]
        ax.set_title(f"{fill(look['label'], LETTERS)}\n{bounded(final.mean(), *t_interval(final))}")
        ax.title.set_color(style.darken(look["color"], 0.25))
    ends = [own["loss"].mean() for own in last.values()]
    spare = max(0.1 * (max(ends) - min(ends)), 0.02 * min(ends))
    axes[0, 0].set_ylim(min(ends) - 2 * spare, max(ends) + 6 * spare)  # where encodings differ; all begin far above
    fig.supxlabel("training step")
    fig.supylabel("training loss (nats)")
    return fig


def caption(frame: Frame) -> str:
    last = {style_of(name)["label"]: own["loss"].mean() for name, own in groups(_last(frame))}
    lowest, highest = (pick(last, key=last.get) for pick in (min, max))
    usual = frame[frame["times"] == 1]
    return (
        f"Loss on the training windows by encoding, from the lowest at the end. Line: a seed, each point a mean of "
        f"{int(usual['window'].iloc[0])} steps; grey: the other encodings' means. The first steps lie above the frame. "
        f"Under each name: mean of the last tenth of the steps [95 % t interval over seeds]; lowest is {lowest} "
        f"({last[lowest]:.3f}), highest {highest} ({last[highest]:.3f}). RoPE Local is RoPE, read through a window "
        f"after training; {named_seeds(frame)}."
    )


FIGURE = FigureSpec(
    "language_training", draw, caption, notebook="language_models",
    columns=(*COLUMNS, "step", "loss", "window"),
    alt="Small panels, one for each encoding from the lowest final loss to the highest: training loss falling with the "
    "step, a line for each seed, the other encodings in grey behind.",
)  # fmt: skip
