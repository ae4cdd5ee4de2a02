"""The main comparison: every family of encodings from three quarters of the training length to 64 times it."""

from attention_priors.experiments.gate import gated
from attention_priors.figures import panels
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.methods import UNTRAINED, alone, label, named_runs, named_seeds
from attention_priors.figures.passkey.lines import COLUMNS, NOTEBOOK, plain
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, GOOD, bounded, prompts, tokens, trained_on
from attention_priors.positions.encodings import encoding

FARTHEST = 64  # times the training length: what all are asked
ACROSS = 5  # panels in a row
OURS = "bam-ssmax"


def shown(frame: Frame) -> Frame:
    """Own weights, plain task, lengths that all were asked at: all encodings without SSMax, and BAM with it."""
    rows = plain(frame)
    rows = rows[rows["encoding"] != UNTRAINED]
    main = [name for name in rows["encoding"].unique() if _main(name)]
    rows = rivals(rows[rows["encoding"].isin(main)], "encoding", "passkey_main")
    shared = set.intersection(*(set(own["length"]) for _, own in rows.groupby("encoding")))
    return rows[rows["length"].isin(shared)]


def _main(name: str) -> bool:
    row = encoding(name)
    return row.trained_as is None and (not row.ssmax or name == OURS)


def ranked(rows: Frame) -> list[str]:
    """From the best: by mean accuracy over the lengths above the training length."""
    beyond = rows[rows["length"] > rows["trained"]]
    return list(beyond.groupby("encoding")["accuracy"].mean().sort_values(ascending=False, kind="stable").index)


def draw(frame: Frame) -> Figure:
    """A panel an encoding: its seeds, their mean with interval bars, and all other means in grey behind."""
    rows = shown(frame)
    made = {
        label(name): [
            *panels.behind(rows, "accuracy", shares),
            panels.over(rows[rows["encoding"] == name], "accuracy", alone(name), shares),
        ]
        for name in ranked(rows)
    }
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", across=ACROSS, **axis)[0]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    last, trained, names = int(rows["length"].max()), trained_on(rows), ranked(rows)
    ends = {name: over_seeds(rows[rows["encoding"] == name], "accuracy", shares).loc[last] for name in names}
    each = "; ".join(f"{label(name)} {bounded(*ends[name][['mean', 'low', 'high']])}" for name in names)
    far = [label(name) for name in names if ends[name]["mean"] >= GOOD]
    learned = gated(rows)
    missed = named_runs(learned[~learned["passed"]])
    gate = f" Missed their gate, shown all the same: {missed}." if missed else ""
    return (
        f"Share of passkeys retrieved by {len(names)} encodings trained on texts of varied lengths up to {trained} "
        f"tokens. At {tokens(last, trained)}, {', '.join(far) or 'none'} still answer{'s' * (len(far) == 1)} {GOOD} or "
        f"more on average. Dots: seeds; bars: 95 % interval of their mean, over seeds and prompts; grey: the other "
        f"encodings; dotted: the training length. At the longest length: {each}. {prompts(rows)}; {named_seeds(rows)}. "
        f"Chance is {CHANCE}.{gate}"
    )


FIGURE = FigureSpec(
    "passkey_by_length",
    draw,
    caption,
    notebook=NOTEBOOK,
    columns=COLUMNS,
    paper="BAM, Fig. 13",
    claims=("X-11", "BAM-C6", "BAM-C7", "BAM-C13", "BAM-F13"),
    alt="Small panels, one for each encoding from the best to the worst, of passkey accuracy against context length up "
    "to 64 times the training length, with seeds as dots and interval bars, the other encodings in grey behind.",
)
