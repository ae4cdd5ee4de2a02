"""What every claim that a run was held against says, what was measured, and its interval, side by side."""

import numpy as np

from attention_priors import claims
from attention_priors.checks import CHECKS
from attention_priors.claims.finding import Finding
from attention_priors.figures import style
from attention_priors.figures.spec import LEDGER, Figure, FigureSpec, Frame, NotCompared

# outcome: colour, marker
LOOKS = {"agrees": (style.BLUE, "s"), "disagrees": (style.ORANGE, "D"), "undecided": (style.GREY, "o")}
PITCH = 0.142  # inches from row to row
PLACES = (0.0, 0.61, 0.86)  # of the numbers beside them
WORDS = {"agrees": "agree", "disagrees": "disagree", "undecided": "are undecided"}
SIGNS = {">=": "≥", "<=": "≤"}
NUMBERS = ("measured", "expected_value")


def comparable(ledger: Frame) -> Frame:
    """The claims with a bound, a measured number and a finite interval. NotCompared where there are none."""
    rows = ledger[ledger["verdict"].isin(claims.RUNS) & ledger["interval"].notna()]
    numbers = rows[list(NUMBERS)].map(lambda value: isinstance(value, (int, float)) and not isinstance(value, bool))
    rows = rows[numbers.all(axis=1)]
    rows = rows[[bool(np.isfinite(ends).all()) for ends in rows["interval"]]].reset_index(drop=True)
    if rows.empty:
        raise NotCompared("verdicts_forest: no claim was held against a run under this profile; a larger one has some")
    return rows


def ours(name: str, bound: float) -> bool:
    """Whether the bound of a claim is our choice and not the document's."""
    sentences = CHECKS[name].sentences if name in CHECKS else ()
    return any(isinstance(each, Finding) and each.ours and each.bound == bound for each in sentences)


def draw(ledger: Frame) -> Figure:
    """A row a claim, in the scale of its largest number: bar and mark for ours, a stroke for the claim's bound."""
    rows = comparable(ledger)
    heights, y = [], 0.0
    for before, document in zip([None, *rows["document"]], rows["document"], strict=False):
        y += 1.6 if before not in (None, document) else 1.0
        heights.append(y)
    fig, (ax, beside) = style.figure(
        style.DOUBLE, 0.9 + PITCH * (max(heights) + 1), ncols=2, sharey=True, width_ratios=(1, 0.84)
    )
    beside.axis("off")
    for height, row in zip(heights, rows.itertuples(), strict=True):
        low, high = row.interval
        unit = max(abs(value) for value in (low, high, row.measured, row.expected_value)) or 1.0
        color, marker = LOOKS[row.outcome]
        style.interval_row(ax, (low / unit, high / unit), height, color)
        ax.plot(row.measured / unit, height, marker, color=color, markersize=3.6, zorder=4, label="_mean")
        own = ours(row.id, row.expected_value)
        dashes = (1, 0.8) if own else style.SOLID
        ends = [height - 0.36, height + 0.36]
        ax.plot([row.expected_value / unit] * 2, ends, color=style.BLACK, linewidth=1.4, dashes=dashes, label="_bound")
        said = f"{_number(row.measured)} [{_number(low)}, {_number(high)}]"
        bound = f"{SIGNS.get(row.relation, row.relation)} {_number(row.expected_value)}{' ours' if own else ''}"
        for x, text in zip(PLACES, (said, bound, row.scale), strict=True):
            beside.text(x, height, text, fontsize=style.SMALLEST, va="center")
    for x, text in zip(PLACES, ("measured [95 %]", "bound", "needs"), strict=True):
        beside.text(x, 0, text, fontsize=style.SMALLEST, va="center", fontweight="bold")
    ax.axvline(0, color=style.GREY, linewidth=0.7, linestyle=":", zorder=0)
    ax.set_yticks(heights, rows["id"])
    ax.tick_params(axis="y", length=0)
    ax.set(xlim=(-1.06, 1.06), ylim=(max(heights) + 0.8, -0.8), xticks=[-1, -0.5, 0, 0.5, 1])
    ax.set_xlabel("share of the largest number of the row")
    handles = [ax.plot([], [], marker, color=color, markersize=3.6, linestyle="", label=outcome)[0]
               for outcome, (color, marker) in LOOKS.items()]  # fmt: skip
    handles += [ax.plot([], [], "|", color=style.BLACK, markersize=7, markeredgewidth=1.4, linestyle="",
                        label="bound of the claim (dotted: ours)")[0]]  # fmt: skip
    fig.legend(handles=handles, loc="outside upper center", ncols=len(handles), handletextpad=0.2)
    return fig


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def caption(ledger: Frame) -> str:
    rows = comparable(ledger)
    counted = rows["outcome"].value_counts()
    each = ", ".join(f"{counted.get(outcome, 0)} {words}" for outcome, words in WORDS.items())
    own = sum(ours(row.id, row.expected_value) for row in rows.itertuples())
    scales = ", ".join(f"{count} {scale}" for scale, count in rows["scale"].value_counts(sort=False).items())
    return (
        f"All {len(rows)} claims that a number with an interval was held against: mark, the measured value; bar, its "
        f"95 % interval; stroke, the bound of the claim. Each row has a unit of its own. {each}. "
        f"{own} bounds are of our choice, since the document gives none (dotted). The last column is the scale that "
        f"the claim needs ({scales}); what small models give is a scaled reproduction at most."
    )


FIGURE = FigureSpec(
    LEDGER, draw, caption, notebook="verdicts",
    columns=("id", "document", "verdict", "outcome", "measured", "relation", "expected_value", "interval", "scale"),
    alt="A forest plot with a row for each claim that a run was held against: measured value with its interval, the "
    "claim's bound as a stroke, and the numbers in words beside it.",
)  # fmt: skip
