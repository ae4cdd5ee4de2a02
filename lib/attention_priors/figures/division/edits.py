"""A window put on rotated heads after training: what was disturbed comes back, what was never learned does not."""

from attention_priors.experiments.division import AS_TRAINED, LATE
from attention_priors.figures import style
from attention_priors.figures.division.kinds import NOTEBOOK
from attention_priors.figures.methods import label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import tokens, trained_on


def edited(frame: Frame) -> Frame:
    """The models that were read both ways, at the longest length."""
    rivals(frame, "edit", "division_edits")
    both = frame.groupby("encoding")["edit"].transform("nunique") == 2
    return frame[both & (frame["length"] == frame["length"].max())]


def draw(frame: Frame) -> Figure:
    """A panel an encoding, a line a seed from as trained to with the window."""
    rows = edited(frame)
    names = list(rows["encoding"].unique())
    fig, axes = style.figure(style.MIDDLE, 2.0, ncols=len(names), sharey=True, squeeze=False)
    for ax, name in zip(axes.flat, names, strict=True):
        own = rows[rows["encoding"] == name]
        for _, seed in own.groupby("seed"):
            shares = (seed["correct"] / seed["samples"]).set_axis(seed["edit"])[[AS_TRAINED, LATE]]
            ax.plot([0, 1], shares, color=style.PINK, marker="o")
        ax.set_xticks([0, 1], [AS_TRAINED, LATE])
        ax.set(xlim=(-0.3, 1.3), ylim=(-0.04, 1.04), title=label(name))
    axes[0, 0].set_ylabel(f"passkeys at {tokens(rows['length'].iloc[0], trained_on(rows))}")
    return fig


def caption(frame: Frame) -> str:
    rows = edited(frame)
    shares = (rows["correct"] / rows["samples"]).groupby([rows["encoding"], rows["edit"]], sort=False)

    def told(name: str, edit: str) -> str:
        own = shares.get_group((name, edit))
        return f"{own.mean():.2f} ({own.min():.2f} to {own.max():.2f})"

    said = "; ".join(f"{label(name)}: {told(name, AS_TRAINED)} as trained, {told(name, LATE)} with it"
                     for name in rows["encoding"].unique())  # fmt: skip
    trained = trained_on(rows)
    return (
        f"Models trained without windows, read at {tokens(rows['length'].iloc[0], trained)} with a window of {trained} "
        f"tokens on the heads that rotate, so that no angle is new; no weight is changed. {said} (mean, "
        f"lowest and highest of {named_seeds(rows)}; {int(rows['samples'].iloc[0])} prompts each, others than in the "
        f"table)."
    )


FIGURE = FigureSpec(
    "division_edits", draw, caption, notebook=NOTEBOOK,
    columns=("encoding", "seed", "edit", "length", "correct", "samples", "trained"),
    alt="A panel for each encoding with a line for each seed: passkeys retrieved far beyond the training length as "
    "trained, and with a window on the rotated heads.",
)  # fmt: skip
