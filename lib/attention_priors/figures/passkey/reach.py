"""The longest length at which each encoding still answers: figure and table."""

from attention_priors.figures import reaches
from attention_priors.figures.methods import METHODS, OURS, UNTRAINED, label, method, named_seeds
from attention_priors.figures.passkey.accuracy import groups
from attention_priors.figures.passkey.lines import NOTEBOOK, multiples, plain
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec
from attention_priors.figures.words import CHANCE, GOOD, REACH, tokens, trained_on

PAPER = "BAM, abstract (reach)"


def _trained(frame: Frame) -> Frame:
    return frame[frame["encoding"] != UNTRAINED]


def draw(frame: Frame) -> Figure:
    rows = _trained(plain(frame))
    order = rows.groupby("encoding")["reach"].median().sort_values(kind="stable").index
    fig, ticks = reaches.draw(
        rows, order, lambda own: (METHODS[method(own["encoding"].iloc[0])][0], "o"), [label(name) for name in order],
        height=0.9 + 0.26 * len(order), apart=(0.2, 0.9), ended=">",
    )  # fmt: skip
    multiples(fig.axes[0], ticks, trained_on(rows), rotation=45)
    return fig


def caption(frame: Frame) -> str:
    rows = _trained(plain(frame))
    trained, medians = trained_on(rows), rows.groupby("encoding")["reach"].median()
    others = medians[[method(name) != "bam" for name in medians.index]]
    best = ", ".join(label(name) for name in others.index[others == others.max()])
    ended = medians.get(OURS) == rows[rows["encoding"] == OURS]["longest_tested"].max()
    return (
        f"Longest {REACH}, for every encoding, trained on {trained} tokens. A mark for each seed, the bar ends at "
        f"their median; grey tick: longest tested; triangle: it was reached; never: below {GOOD} at the training "
        f"length already, as any guesser (chance {CHANCE}) and the untrained control. Median of BAM SSMax: "
        f"{'at least ' if ended else ''}{_far(medians.get(OURS), trained)}; longest of encodings other than BAM's: "
        f"{_far(others.max(), trained)} ({best}); {named_seeds(rows)}."
    )


def _far(length: float | None, trained: int) -> str:
    return "–" if length is None else tokens(length, trained) if length else "none"


def build(frame: Frame) -> Frame:
    """Median and extremes over seeds, `>` where the longest tested length was reached."""
    rows = []
    for form, name, group in groups(_trained(frame)):
        longest, median = int(group["longest_tested"].max()), group["reach"].median()
        each = [f"{'>' if reach == longest else ''}{reach:,}" for reach in sorted(group["reach"])]
        more = ">" if median == longest else ""
        rows.append({"form": form, "encoding": label(name), "seeds": len(group),
                     "median (tokens)": f"{more}{median:,.0f}",
                     "median / training length": f"{more}{median / trained_on(group):.3g}",
                     "lowest (tokens)": each[0], "highest (tokens)": each[-1],
                     "longest tested (tokens)": longest})  # fmt: skip
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        f"Longest tested length up to which a model's accuracy never fell below {GOOD}, over seeds; 0: below it at the "
        f"training length of {trained_on(frame)} tokens already; >: as far as was tested."
    )


FIGURE = FigureSpec(
    "passkey_reach", draw, caption, notebook=NOTEBOOK, paper=PAPER, claims=("BAM-C1",),
    columns=("form", *reaches.COLUMNS),
    alt=f"{reaches.ALT}a triangle instead of a dot where the longest tested length was reached.",
)  # fmt: skip
TABLE = TableSpec(
    "passkey_reach", build, caption_table, NOTEBOOK, ("form", "encoding", "reach", "longest_tested", "trained"), PAPER
)
