"""What each part of reading in chunks contributes: a forest of differences within models."""

from attention_priors.figures import forest, style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK, shown
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared
from attention_priors.figures.words import bounded, extremes, times, tokens, trained_on
from attention_priors.parallel.methods import METHODS

MULTIPLES = (4, 16, 64)  # panels
PAIR = ["question", "ours", "theirs"]


def at(frame: Frame) -> tuple[Frame, str]:
    """The rows of RoPE, or of the one encoding that is there, at MULTIPLES, and its name. NotCompared without any."""
    frame = frame[frame["seeds"] > 0]
    if frame.empty:
        raise NotCompared("parallel_differences: no pair of ways to read passed the gate under this profile")
    rows, name = shown(frame, "ours")
    rows = rows[rows["length"].isin([multiple * trained_on(frame) for multiple in MULTIPLES])]
    if rows.empty:
        raise NotCompared("parallel_differences: no length of this profile is 4, 16 or 64 times that of training")
    return rows, name


def draw(frame: Frame) -> Figure:
    """A panel a length; a row a pair, grouped by question."""
    rows, _ = at(frame)
    trained = trained_on(rows)
    panels = [times(length, trained) for length in sorted(set(rows["length"]))]
    drawn = []
    for (question, ours, theirs), own in rows.groupby(PAIR, sort=False):
        cells = {
            times(row.length, trained): forest.Cell((), row.difference, row.low, row.high) for row in own.itertuples()
        }
        drawn.append(forest.Row(f"{METHODS[ours].label} − {METHODS[theirs].label}", cells, group=question))
    fig, axes = forest.draw(drawn, panels, "difference in the share of passkeys retrieved", xlim=(-1.05, 1.05))
    for ax in axes:
        ax.axvline(0, color=style.DARK, linewidth=0.6, linestyle=":")
        ax.set_xticks([-1, 0, 1])
    return fig


def caption(frame: Frame) -> str:
    rows, name = at(frame)
    last = rows[rows["length"] == rows["length"].max()]
    sure = last[(last["low"] > 0) | (last["high"] < 0)]
    said = "; ".join(
        f"{METHODS[row.ours].label} − {METHODS[row.theirs].label} {bounded(row.difference, row.low, row.high)}"
        for row in sure.itertuples()
    )
    return (
        f"What each part of reading in chunks contributes: {label(name)}, differences within models between two ways "
        f"to read the same prompts, at multiples of the {trained_on(rows)} tokens of training. Bars: 95 % intervals "
        f"over seeds and prompts, each for itself; {extremes(rows['seeds'])} seeds that passed the gate. At "
        f"{tokens(last['length'].iloc[0], trained_on(rows))} 0 is excluded for: {said or 'none'}."
    )


FIGURE = FigureSpec(
    "parallel_differences",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("PC-MINI",),
    columns=("question", "encoding", "ours", "theirs", "length", "trained", "seeds", "difference", "low", "high"),
    alt="A forest plot: one row for each pair of ways to read, grouped by the part in which they differ, with the "
    "difference in accuracy and its interval at several multiples of the training length.",
)
