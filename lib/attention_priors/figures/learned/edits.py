"""Passkey accuracy of trained models whose exponents are edited."""

from attention_priors.figures import style
from attention_priors.figures.curves import accuracy_axes, curve, over_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted, times, trained_on

LOOKS = {
    "as trained": {"color": style.ORANGE, "dashes": style.SOLID},
    "negative to uniform": {"color": style.BLUE, "dashes": (5, 1.5)},
    "random to uniform": {"color": style.PINK, "dashes": (2, 1)},
    "positive to uniform": {"color": style.GREEN, "dashes": (3, 1, 1, 1)},
    "all uniform": {"color": style.DARK, "dashes": (1, 1)},
}
KEPT = 0.1  # accuracy at T: an edit that costs more has broken the task, not shortened its reach


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    for edit, look in LOOKS.items():
        rows = frame[frame["edit"] == edit]
        if len(rows):
            mean = over_seeds(rows, "accuracy").clip(0, 1)
            curve(ax, mean, rows.set_index("length")["accuracy"], look, label=edit)
    accuracy_axes(ax, frame["length"], trained_on(frame))
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0)
    return fig


def caption(frame: Frame) -> str:
    return (
        "Passkey accuracy when the exponents of trained BAM-SSMax models are edited at test time "
        f"({counted(frame['seed'])}; {int(frame['samples'].iloc[0])} prompts each; bands: t interval over seeds; dots: "
        "seeds). An edited head gets the uniform prior, its content weights stay; as many random heads as have β < 0 "
        f"are the control. {at_training_length(frame)}"
    )


def at_training_length(frame: Frame) -> str:
    """What the edit of the negative heads, and its control, do where the model was trained, and at the farthest."""
    means = frame.groupby(["length", "edit"])["accuracy"].mean()
    trained, last = trained_on(frame), int(frame["length"].max())
    edit, control = "negative to uniform", "random to uniform"
    if any(name not in means[trained].index for name in ("as trained", edit, control)):
        return ""
    said = ", ".join(f"{name} {means[trained][name]:.2f}" for name in ("as trained", edit, control))
    lost = means[trained]["as trained"] - means[trained][edit]
    broken = "; the edit fails at the training length itself, so that it breaks the task and does not set its reach"
    kept = "; the edit leaves the task as it was at the training length"
    far = f" At {times(last, trained)}: {means[last][edit]:.2f} edited, {means[last][control]:.2f} the control."
    return f"At {trained} tokens: {said}{broken if lost > KEPT else kept}." + far * (last > trained)


FIGURE = FigureSpec(
    "learned_edits", draw, caption, notebook="learned_priors", claims=("BAM-C21",),
    columns=("edit", "seed", "length", "accuracy", "samples", "trained"),
    alt="Line plot of passkey accuracy by context length for the trained model, three edits of its exponents and the "
    "same edit of random heads.",
)  # fmt: skip
