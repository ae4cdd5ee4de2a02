"""Goat and its rivals on passkeys: digits and whole passkeys by length; and logits that nobody divided by √d."""

from attention_priors.experiments.gate import gated
from attention_priors.experiments.goat_passkeys import CHANCE
from attention_priors.figures import panels, style
from attention_priors.figures.curves import shares as share
from attention_priors.figures.goat.order import GOAT, NOTEBOOK
from attention_priors.figures.methods import alone, label, named_runs, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from attention_priors.figures.words import HULL, bounded, prompts, times, trained_on
from attention_priors.tasks import passkey

COLUMNS = ("encoding", "seed", "length", "correct", "digits", "samples", "trained")
UNDIVIDED = "-undivided"
FAR = 16  # times the training length, that the caption tells of


def shown(frame: Frame) -> Frame:
    """Without the ablation of logits, which has a table of its own."""
    return rivals(frame[~frame["encoding"].str.endswith(UNDIVIDED)], "encoding", "Goat on passkeys")


def by_digits(rows: Frame) -> Frame:
    """The same with digits as what is counted; an interval's trials are prompts."""
    digits = rows["digits"] / passkey.DIGITS
    return rows.assign(correct=digits, accuracy=digits / rows["samples"])


def ranked(rows: Frame) -> list[str]:
    """From the best: by digits above the training length."""
    beyond = by_digits(rows[rows["length"] > rows["trained"]])
    return list(beyond.groupby("encoding")["accuracy"].mean().sort_values(ascending=False, kind="stable").index)


def draw(frame: Frame) -> Figure:
    """A panel an encoding: digits in colour, whole passkeys in grey, the dots of seeds; chance of a digit."""
    rows, made = shown(frame), {}
    for name in ranked(rows):
        own = rows[rows["encoding"] == name]
        whole = own.assign(accuracy=own["correct"] / own["samples"])
        grey = {"color": style.GREY, "dashes": (3, 1), "linewidth": 1.0, "label": "whole passkeys"}
        digits = panels.over(by_digits(own), "accuracy", alone(name) | {"label": "digits"}, share)
        made[label(name)] = [digits, panels.over(whole, "accuracy", grey, share)]
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES | {"legend": "above"}
    labels, levels = (panels.multiple(rows), "share that is right"), {CHANCE: "chance of a digit"}
    return panels.draw(made, *labels, levels=levels, **axis)[0]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    trained, names, learned = trained_on(rows), ranked(rows), gated(rows)
    far = by_digits(rows[rows["length"] == FAR * trained])
    means = far.groupby("encoding")["accuracy"].mean()
    goats = {name: value for name, value in means.items() if name.startswith(GOAT)}
    others = means.drop(list(goats))
    best = f"; of the others {label(others.idxmax())} is best ({others.max():.2f})" if len(others) else ""
    said = ", ".join(f"{label(name)} {value:.2f}" for name, value in goats.items())
    told = f" At {times(FAR * trained, trained)} the digits right are: {said}{best}." if len(means) else ""
    missed = named_runs(learned[~learned["passed"]])
    gate = f" Missed their gate, shown all the same: {missed}." if missed else ""
    return (
        f"Passkeys for {len(names)} encodings with equally wide heads, trained on texts of varied lengths up to "
        f"{trained} tokens.{told} Colour: share of digits; grey: of whole passkeys; lines: means over seeds; bars: 95 "
        f"% intervals over seeds and prompts; dots: seeds. Squares are Goat's forms. Chance is {CHANCE} for a digit, "
        f"nothing for a passkey. {prompts(rows)}; {named_seeds(rows)}.{gate}"
    )


def pairs(frame: Frame) -> list[tuple[str, str]]:
    """Encodings that were trained both ways."""
    there = set(frame["encoding"])
    made = [(name, name + UNDIVIDED) for name in frame["encoding"].unique() if name + UNDIVIDED in there]
    if not made:
        raise NotCompared("logits without 1/√d: this profile trains none; a larger one has them beside the usual ones")
    return made


def build(frame: Frame) -> Frame:
    """Two rows for each of the pairs."""
    trained, rows = trained_on(frame), []
    learned = gated(frame).groupby("encoding")["passed"]
    for name in (each for pair in pairs(frame) for each in pair):
        own = by_digits(frame[frame["encoding"] == name])
        row = {
            "encoding": label(name.removesuffix(UNDIVIDED)),
            "logits": "not divided" if name.endswith(UNDIVIDED) else "divided by √d",
            "passed the gate": f"{int(learned.sum()[name])} of {int(learned.size()[name])}",
            "steps": f"{own.groupby('seed')['steps'].first().median():.0f}",
        }
        for multiple in (1, 2, 4, FAR):
            at = own[own["length"] == multiple * trained]
            if len(at):
                row[f"digits at {multiple}T"] = bounded(at["accuracy"].mean(), *share(at))
        rows.append(row)
    return Frame(rows).fillna("")


def caption_table(frame: Frame) -> str:
    pairs(frame)
    return (
        f"Baselines with logits divided by √d, and without, as in the code behind Goat's Fig. 3: share of the digits "
        f"right; {HULL}]. T is {trained_on(frame)} tokens, chance {CHANCE}. Steps until the gate was passed, or all."
    )


FIGURE = FigureSpec(
    "goat_passkey_counts",
    draw,
    caption,
    notebook=NOTEBOOK,
    columns=COLUMNS,
    paper="Goat, Fig. 3a",
    claims=("GOAT-F3a", "GOAT-C-7", "GOAT-C-10"),
    alt="Small panels, one for each encoding from the best to the worst: the share of digits and of whole passkeys "
    "against context length, with interval bars, dots for seeds, and a dotted line at chance.",
)
TABLE = TableSpec("goat_passkey_counts", build, caption_table, NOTEBOOK, (*COLUMNS, "steps"), paper="Goat, Fig. 3a")
