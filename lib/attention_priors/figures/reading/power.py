"""Which difference between two encodings three or five seeds with 20 or 50 prompts can show."""

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.power import SURE, detectable

SPREADS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
DESIGNS = ((3, 20), (3, 50), (5, 20), (5, 50))  # seeds, prompts a seed
LOOKS = ((style.ORANGE, (1, 1), "o"), (style.ORANGE, style.SOLID, "s"), (style.BLUE, (1, 1), "^"),
         (style.BLUE, style.SOLID, "D"))  # fmt: skip


def rows(size: Size, seed: int) -> Rows:
    draws = max(200, size.draws // 100)
    return [
        {"seeds": seeds, "prompts": prompts, "spread": spread,
         "difference": detectable(spread, seeds, prompts, draws, seed), "power": SURE}
        for seeds, prompts in DESIGNS for spread in SPREADS
    ]  # fmt: skip


def draw(frame: Frame) -> Figure:
    """Detectable difference against the spread of accuracies over seeds, a line for each design."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    for (seeds, prompts), (color, dashes, marker) in zip(DESIGNS, LOOKS, strict=True):
        own = frame[(frame["seeds"] == seeds) & (frame["prompts"] == prompts)]
        ax.plot(own["spread"], own["difference"], color=color, dashes=dashes, marker=marker,
                label=f"{seeds} seeds, {prompts} prompts")  # fmt: skip
    ax.set(xlabel="standard deviation of accuracy over seeds", ylabel="difference found\n4 times in 5", ylim=(0, 1))
    ax.legend(loc="lower right")
    return fig


def caption(frame: Frame) -> str:
    at = {(row.seeds, row.prompts): row.difference for row in frame[frame["spread"] == 0.1].itertuples()}
    return (
        "The smallest difference in accuracy of two encodings, with seeds of their own, whose interval excludes 0 with "
        f"power {frame['power'].iloc[0]}, around accuracies of one half, where models differ by seed. At a standard "
        f"deviation of 0.1: {at[3, 20]:.2f} with 3 seeds and 20 prompts each, {at[3, 50]:.2f} with 50 prompts, "
        f"{at[5, 50]:.2f} with 5 seeds. Simulated; notebook 10 lists the measured deviations."
    )


FIGURE = FigureSpec(
    "reading_power", draw, caption, "Lines of the detectable difference in accuracy against the standard "
    "deviation over seeds, one for each number of seeds and prompts; all rise, those of five seeds lie lower.",
    notebook="how_to_read", columns=("seeds", "prompts", "spread", "difference", "power"), rows=rows,
)  # fmt: skip
