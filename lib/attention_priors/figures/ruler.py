"""RULER's needle tasks (BAM, Tables 3 and 4): score by task, encoding and length, and their average."""

from ..experiments.needles import CONTROL, ENOUGH
from ..experiments.seeds import score_interval
from ..positions.encodings import encoding
from ..tasks.needle_text import TASKS
from . import forest, style
from .methods import METHODS, UNTRAINED, label, look, named, named_seeds
from .spec import Figure, FigureSpec, Frame, TableSpec, rivals
from .words import HULL, bounded, extremes, times, trained_on

# The mean score by length over those of RULER's needle tasks that can tell encodings apart
MULTIPLES = (1, 2, 4, 16, 64)  # of the training length: the panels


def ends(rows: Frame) -> tuple[float, float]:
    """The interval of a mean score over seeds and prompts."""
    return score_interval(rows["score"], rows["prompts"])


def _drawn(frame: Frame) -> list[str]:
    """The encodings without SSMax and then those with it, METHODS before the others, and the control."""
    there = list(dict.fromkeys(frame["encoding"]))
    known = {*named(False, METHODS), *named(True, METHODS)}
    made = []
    for ssmax in (False, True):
        others = [name for name in there if name != UNTRAINED and name not in known and encoding(name).ssmax == ssmax]
        made += [name for name in named(ssmax, METHODS) if name in there] + others
    return made + [UNTRAINED] * (UNTRAINED in there)


def draw_average(frame: Frame) -> Figure:
    rivals(frame, "encoding", "ruler_average", but=[UNTRAINED])
    trained, there = trained_on(frame), set(frame["length"])
    lengths = {m * trained: f"{style.length_label(m * trained)} ({m}×)" for m in MULTIPLES if m * trained in there}
    made = []
    for name in _drawn(frame):
        own, drawn = frame[frame["encoding"] == name], look(name)
        cells = forest.cells(own, "score", lengths, ends)
        group = "control" if name == UNTRAINED else "with SSMax" if encoding(name).ssmax else "without SSMax"
        hollow = name != UNTRAINED and not own["passed"].any()
        made.append(forest.Row(drawn["label"], cells, drawn["color"], drawn["marker"], group, hollow))
    xlabel = f"mean score over {int(frame['tasks'].max())} tasks, by context length (tokens)"
    return forest.draw(made, list(lengths.values()), xlabel)[0]


def caption_average(frame: Frame) -> str:
    trained, last = trained_on(frame), int(frame["length"].max())
    drawn = set(_drawn(frame)) - {UNTRAINED}
    models = frame[frame["encoding"].isin(drawn)]
    runs = models.drop_duplicates(["encoding", "seed"])
    missed = ", ".join(
        f"{label(name)} {int(own['passed'].sum())} of {len(own)}"
        for name, own in runs.groupby("encoding", sort=False)
        if not own["passed"].all()
    )
    passed = f"on all of these tasks: all{f', but {missed}' if missed else ''}"
    reference = "1 on a task of one needle and a quarter on one of four"
    return (
        f"Mean score over the {int(frame['tasks'].max())} of RULER's needle tasks that at least {ENOUGH} encodings "
        f"have learned (over all, where none is), trained on up to {trained} tokens, asked to {last:,} "
        f"({times(last, trained)}). Seeds that passed the gate {passed}; a "
        f"run that misses it is drawn and decides nothing (hollow: no seed passed). Mark: mean over seeds; bar: 95 % "
        f"interval of that mean over seeds and prompts; dots above: seeds. {extremes(frame['prompts'])} prompts at "
        f"each length and seed, over all tasks; {named_seeds(models)}. The untrained control is {label(CONTROL)} "
        f"before its first step. A model that copies some needle's value and does not look at keys scores {reference}."
    )


AVERAGE = FigureSpec(
    "ruler_average",
    draw_average,
    caption_average,
    notebook="needles",
    paper="BAM, Tables 3 and 4",
    claims=("BAM-D8",),
    alt="Rows of the mean score over the needle tasks, a row for each encoding without SSMax and with it, a panel for "
    "each of some context lengths, with interval bars and seeds; an untrained model lies at zero.",
)


# RULER's needle tasks one by one, as they are called there
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


def build_tasks(frame: Frame) -> Frame:
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
            for length, head in heads.items():
                at = own.loc[length]
                row[head] = bounded(at["mean"], at["low"], at["high"]) if at["asked"] else "0, not asked"
            partly = own.index[(own["asked"] > 0) & (own["asked"] < own["seeds"])]
            rows.append(row | {"not all seeds asked at": ", ".join(map(style.length_label, partly))})
    return Frame(rows)


def caption_tasks(frame: Frame) -> str:
    return (
        f"Score on RULER's needle tasks and variable tracking, {HULL}, a prompt with several answers being one trial], "
        f"by context length in tokens (multiples of the training length of {trained_on(frame)}). "
        f"{extremes(frame['samples'])} prompts at each task, length and seed; a length that no seed was asked, after "
        "too many without a hit, counts as 0, and so does a seed that was not asked where others were: the last column "
        "has these lengths. One seed has no interval over seeds: [0, 1]."
    )


TABLE = TableSpec(
    "ruler_over_seeds",
    build_tasks,
    caption_tasks,
    "needles",
    "BAM, Tables 3 and 4",
)
