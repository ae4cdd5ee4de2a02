"""How to read the numbers: which difference between two encodings some seeds with some prompts can show."""

from ..theory.power import SURE, detectable
from . import panels, style
from .spec import Figure, FigureSpec, Frame, Rows, Size

SPREADS = {0.0: (style.BLUE, style.SOLID, "o"), 0.05: (style.GREEN, (5, 1.5), "s"), 0.1: (style.ORANGE, (3, 1), "^"),
           0.2: (style.PINK, (1, 1), "D")}  # fmt: skip
SEEDS, PROMPTS = (2, 3, 5, 7, 10), (20, 50)


def rows(size: Size, seed: int) -> Rows:
    draws = max(200, size.draws // 100)
    return [
        {
            "seeds": seeds,
            "prompts": prompts,
            "spread": spread,
            "difference": detectable(spread, seeds, prompts, draws, seed),
            "power": SURE,
        }
        for prompts in PROMPTS
        for seeds in SEEDS
        for spread in SPREADS
    ]


def draw(frame: Frame) -> Figure:
    name = "deviation {:g}".format
    made = {
        f"{count} prompts a seed": panels.series(own, "seeds", "difference", "spread", SPREADS, name)
        for count, own in frame.groupby("prompts")
    }
    axis = {"ylim": (0, 1), "xticks": {count: f"{count}" for count in SEEDS}, "legend": "above", "ncols": 4}
    return panels.draw(made, "seeds of each encoding", "difference in accuracy\nfound 4 times in 5", **axis)[0]


def caption(frame: Frame) -> str:
    most = int(frame["prompts"].max())
    rows = frame[(frame["spread"] == 0.1) & (frame["prompts"] == most)].dropna(subset="difference")
    each = ", ".join(f"{row.difference:.2f} with {row.seeds} seeds" for row in rows.itertuples())
    return (
        "The smallest difference in accuracy of two encodings, with seeds of their own, whose interval excludes 0 with "
        f"power {frame['power'].iloc[0]}, by the number of seeds. Accuracies lie around one half, a line for each "
        f"standard deviation over seeds. At a deviation of 0.1 and {most} prompts: {each or 'none'}. A line begins "
        "at the fewest seeds that can show one; near 1, where accuracies end, lines are not in order. Simulated; "
        "notebook 10 lists the measured deviations."
    )


POWER = FigureSpec(
    "reading_power",
    draw,
    caption,
    "Lines of the detectable difference in accuracy against the number of seeds, one "
    "for each standard deviation over seeds, a panel for each number of prompts; nearly all fall, steeply up to five.",
    notebook="how_to_read",
    rows=rows,
)
