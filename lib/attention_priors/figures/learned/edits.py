"""Passkey accuracy of trained models whose exponents are edited."""

from attention_priors.figures import style
from attention_priors.figures.curves import accuracy_axes, curve, over_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted

LOOKS = {
    "as trained": {"color": style.ORANGE, "dashes": style.SOLID},
    "negative to uniform": {"color": style.BLUE, "dashes": (5, 1.5)},
    "all uniform": {"color": style.DARK, "dashes": (1, 1)},
    "positive to uniform": {"color": style.GREEN, "dashes": (3, 1, 1, 1)},
}


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    for edit, look in LOOKS.items():
        rows = frame[frame["edit"] == edit]
        if len(rows):
            mean = over_seeds(rows, "accuracy").clip(0, 1)
            curve(ax, mean, rows.set_index("length")["accuracy"], look, label=edit)
    accuracy_axes(ax, frame["length"])
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0)
    return fig


def caption(frame: Frame) -> str:
    return (
        "Passkey accuracy when the exponents of trained BAM-SSMax models are edited at test time "
        f"({counted(frame['seed'])}; {int(frame['samples'].iloc[0])} prompts each; bands: t interval over seeds; dots: "
        "seeds). An edited head gets the uniform prior, its content weights stay."
    )


FIGURE = FigureSpec(
    "learned_edits", draw, caption, notebook="learned_priors", claims=("BAM-C21",),
    columns=("edit", "seed", "length", "accuracy", "samples"),
    alt="Line plot of passkey accuracy by context length for the trained model and three edits of its exponents.",
)  # fmt: skip
