"""The longest length at which each of all encodings still answers."""

from attention_priors.figures import reaches
from attention_priors.figures.encodings.accuracy import starred
from attention_priors.figures.encodings.families import FAMILIES
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import CHANCE, GOOD, REACH, trained_on


def draw(frame: Frame) -> Figure:
    middle = frame.groupby("encoding")["reach"].agg(["median", "mean"])
    names = list(middle.sort_values(["median", "mean"], kind="stable").index)
    fig, _ = reaches.draw(
        frame, names, lambda own: FAMILIES[own["family"].iloc[0]][1:], [starred(name) for name in names],
        height=0.7 + 0.15 * len(names), apart=(0.18, 0.7),
    )  # fmt: skip
    fig.axes[0].set_ylim(-0.8, len(names) - 0.2)
    return fig


def caption(frame: Frame) -> str:
    medians = frame.groupby("encoding")["reach"].median()
    best = ", ".join(label(name) for name in medians.index[medians == medians.max()])
    return (
        f"Longest {REACH}, trained on {trained_on(frame)} tokens. A mark for each seed (shape and colour as in "
        "encodings_accuracy: cross without position, diamond absolute, triangle rotation, disc log-prior), the bar "
        f"ends at their median; grey tick: longest tested. never: below {GOOD} at the training length already. *: "
        f"RoPE's weights. Longest median, {medians.max():,.0f} tokens: {best}. Chance is {CHANCE}."
    )


FIGURE = FigureSpec(
    "encodings_reach", draw, caption, notebook="passkeys", claims=("X-11",), columns=(*reaches.COLUMNS, "family"),
    alt=f"{reaches.ALT}marks differ by the way in which position enters.",
)  # fmt: skip
