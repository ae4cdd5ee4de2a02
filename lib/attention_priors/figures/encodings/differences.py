"""Which property of a prior carries retrieval: a forest of paired differences."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared
from attention_priors.figures.words import bounded, extremes, times, tokens, trained_on


def shown(frame: Frame) -> Frame:
    """The pairs of which some seeds passed. NotCompared where there is none."""
    rows = frame[frame["seeds"] > 0]
    if rows.empty:
        raise NotCompared("encodings_differences: no pair of encodings passed the gate under this profile")
    return rows


def draw(frame: Frame) -> Figure:
    """A panel a length; a row a pair, grouped by question, with its interval; filled where Holm's test excludes 0."""
    rows = shown(frame)
    pairs = rows[["question", "ours", "theirs"]].drop_duplicates()
    gaps = (pairs["question"] != pairs["question"].shift()).cumsum() - 1
    heights = dict(zip(pairs.itertuples(index=False, name=None), np.arange(len(pairs)) + 1.2 * gaps, strict=True))
    multiples = sorted(set(rows["multiple"]))
    fig, axes = style.figure(
        style.MIDDLE, 0.9 + 0.14 * (len(pairs) + 1.2 * gaps.max()), ncols=len(multiples), sharey=True, squeeze=False
    )
    for ax, multiple in zip(axes[0], multiples, strict=True):
        ax.axvline(0, color=style.DARK, linewidth=0.6, linestyle=":")
        for row in rows[rows["multiple"] == multiple].itertuples():
            y = heights[row.question, row.ours, row.theirs]
            color = style.ORANGE if row.differs else style.DARK
            ax.plot([row.low, row.high], [y, y], color=color, linewidth=1.0)
            ax.plot(
                row.difference, y, "o", color=color, markersize=3.5, markerfacecolor=color if row.differs else "white"
            )
        ax.set_xlim(-1.05, 1.05)
        ax.set_xticks([-1, 0, 1])
        ax.set_title(f"{times(multiple * trained_on(rows), trained_on(rows))}")
    first = axes[0, 0]
    first.set_yticks(list(heights.values()), [f"{label(ours)} − {label(theirs)}" for _, ours, theirs in heights])
    first.tick_params(axis="y", labelsize=style.SMALLEST, length=0)
    for question in dict.fromkeys(pairs["question"]):
        top = min(y for (own, _, _), y in heights.items() if own == question)
        first.text(
            -0.03,
            top - 0.75,
            question,
            transform=first.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=style.SMALLEST,
            fontweight="bold",
        )
    first.set_ylim(max(heights.values()) + 0.7, -1.4)
    fig.supxlabel("difference in the share of passkeys retrieved")
    return fig


def caption(frame: Frame) -> str:
    rows = shown(frame)
    last = rows[rows["multiple"] == rows["multiple"].max()]
    sure = last[last["differs"]].sort_values("difference", key=abs, ascending=False)
    listed = "; ".join(
        f"{label(row.ours)} − {label(row.theirs)} {bounded(row.difference, row.low, row.high)}"
        for row in sure.drop_duplicates(["ours", "theirs"]).itertuples()
    )
    missed = sorted({f"{label(row.ours)} − {label(row.theirs)}" for row in frame[frame["seeds"] == 0].itertuples()})
    farthest = tokens(last["length"].iloc[0], trained_on(rows))
    return (
        f"What carries retrieval beyond {trained_on(rows)} tokens: differences within seeds between encodings, grouped "
        f"by the property in question, at multiples of the training length. Bars: 95 % intervals; filled: 0 is "
        f"excluded after Holm's correction for all pairs of a length. At {farthest}: {listed or 'none'}. "
        f"{extremes(rows['seeds'])} seeds a pair, those that passed the gate"
        f"{'; none passed of ' + ', '.join(missed) if missed else ''}. KERPLE power is BAM with an exponent between 0 "
        f"and 2 (X-3)."
    )


FIGURE = FigureSpec(
    "encodings_differences",
    draw,
    caption,
    notebook="passkeys",
    claims=("X-11", "X-3"),
    columns=(
        "question",
        "ours",
        "theirs",
        "multiple",
        "length",
        "trained",
        "seeds",
        "difference",
        "low",
        "high",
        "differs",
    ),
    alt="A forest plot: one row for each pair of encodings, grouped by the property in which they differ, with the "
    "difference in accuracy and its interval at several multiples of the training length.",
)
