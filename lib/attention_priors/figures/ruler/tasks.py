"""RULER's needle tasks one by one (BAM, Tables 3 and 4)."""

from attention_priors.figures import style
from attention_priors.figures.methods import UNTRAINED, label
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import HULL, bounded, extremes, times, trained_on
from attention_priors.tasks.needle_text import TASKS

# As there.
TITLES = {
    "single-1": "Single 1",
    "single-2": "Single 2",
    "single-3": "Single 3",
    "multikey-1": "MultiKey 1",
    "multikey-2": "MultiKey 2",
    "multikey-3": "MultiKey 3",
    "multivalue": "MultiValue",
    "multiquery": "MultiQuery",
    "variable-tracking": "Variable tracking",
}


def build(frame: Frame) -> Frame:
    """A row for each task and encoding, a column for each length."""
    trained = trained_on(frame)
    heads = {
        length: f"{style.length_label(length)} ({times(length, trained)})" for length in sorted(set(frame["length"]))
    }
    cells = {pair: rows.set_index("length") for pair, rows in frame.groupby(["task", "encoding"])}
    rows = []
    for task in (task for task in TASKS if task in set(frame["task"])):
        for name in frame["encoding"].unique():
            own = cells[task, name]
            first = own.iloc[0]
            row = {"task": TITLES[task], "encoding": label(name), "seeds": int(first["seeds"])}
            row["passed the gate"] = "" if name == UNTRAINED else int(first["passed"])
            row |= {head: _cell(own.loc[length]) for length, head in heads.items()}
            partly = own.index[(own["asked"] > 0) & (own["asked"] < own["seeds"])]
            rows.append(row | {"not all seeds asked at": ", ".join(map(style.length_label, partly))})
    return Frame(rows)


def _cell(row: Frame) -> str:
    return bounded(row["mean"], row["low"], row["high"]) if row["asked"] else "0, not asked"


def caption(frame: Frame) -> str:
    return (
        f"Score on RULER's needle tasks and variable tracking, {HULL}, a prompt with several answers being one trial], "
        f"by context length in tokens (multiples of the training length of {trained_on(frame)}). "
        f"{extremes(frame['samples'])} prompts at each task, length and seed; a length that no seed was asked, after "
        "too many without a hit, counts as 0, and so does a seed that was not asked where others were: the last column "
        "has these lengths. One seed has no interval over seeds: [0, 1]."
    )


TABLE = TableSpec(
    "ruler_over_seeds",
    build,
    caption,
    "needles",
    ("task", "encoding", "seeds", "samples", "length", "mean", "low", "high", "asked", "passed", "trained"),
    "BAM, Tables 3 and 4",
)
