"""The mean score by length over those of RULER's needle tasks that can tell encodings apart."""

from attention_priors.experiments.needles import CONTROL, ENOUGH
from attention_priors.experiments.seeds import score_interval
from attention_priors.figures import forest, style
from attention_priors.figures.curves import over_seeds
from attention_priors.figures.methods import METHODS, UNTRAINED, label, look, named, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import extremes, times, trained_on
from attention_priors.positions.encodings import encoding

MULTIPLES = (1, 2, 4, 16, 64)  # of the training length: the panels


def scores(rows: Frame) -> Frame:
    """The mean score by length with its interval over seeds and prompts."""
    return over_seeds(rows, "score", lambda group: score_interval(group["score"], group["prompts"]))


def _drawn(frame: Frame) -> list[str]:
    """The encodings without SSMax and then those with it, METHODS before the others, and the control."""
    there = list(dict.fromkeys(frame["encoding"]))
    known = {*named(False, METHODS), *named(True, METHODS)}
    made = []
    for ssmax in (False, True):
        others = [name for name in there if name != UNTRAINED and name not in known and encoding(name).ssmax == ssmax]
        made += [name for name in named(ssmax, METHODS) if name in there] + others
    return made + [UNTRAINED] * (UNTRAINED in there)


def draw(frame: Frame) -> Figure:
    """A row for each encoding, a panel for each of some lengths; hollow: no seed passed the gate."""
    rivals(frame, "encoding", "ruler_average", but=[UNTRAINED])
    trained, there = trained_on(frame), set(frame["length"])
    lengths = {m * trained: f"{style.length_label(m * trained)} ({m}×)" for m in MULTIPLES if m * trained in there}
    made = []
    for name in _drawn(frame):
        own, drawn = frame[frame["encoding"] == name], look(name)
        means, seeds = scores(own), own.groupby("length")["score"]
        cells = {
            title: forest.Cell(list(seeds.get_group(length)), *means.loc[length])
            for length, title in lengths.items()
            if length in means.index
        }
        group = "control" if name == UNTRAINED else "with SSMax" if encoding(name).ssmax else "without SSMax"
        hollow = name != UNTRAINED and not own["passed"].any()
        made.append(forest.Row(drawn["label"], cells, drawn["color"], drawn["marker"], group, hollow))
    xlabel = f"mean score over {int(frame['tasks'].max())} tasks, by context length (tokens)"
    return forest.draw(made, list(lengths.values()), xlabel)[0]


def caption(frame: Frame) -> str:
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


FIGURE = FigureSpec(
    "ruler_average",
    draw,
    caption,
    notebook="needles",
    paper="BAM, Tables 3 and 4",
    claims=("BAM-D8",),
    columns=("encoding", "seed", "length", "score", "prompts", "tasks", "trained", "passed"),
    alt="Rows of the mean score over the needle tasks, a row for each encoding without SSMax and with it, a panel for "
    "each of some context lengths, with interval bars and seeds; an untrained model lies at zero.",
)
