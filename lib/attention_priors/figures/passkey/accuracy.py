"""The table of accuracies by form, encoding and length."""

from attention_priors.figures.methods import UNTRAINED, label
from attention_priors.figures.passkey.lines import NOTEBOOK
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.style import length_label
from attention_priors.figures.words import CHANCE, HULL, bounded, prompts, times, trained_on
from attention_priors.positions.encodings import ENCODINGS


def groups(frame: Frame) -> list[tuple[str, str, Frame]]:
    """(form, encoding, rows), the plain form first, encodings in the order of ENCODINGS, controls last."""
    order = [*ENCODINGS, UNTRAINED]
    found = [(form, name, rows) for (form, name), rows in frame.groupby(["form", "encoding"])]
    return sorted(found, key=lambda group: (group[0] != "plain", order.index(group[1])))


def build(frame: Frame) -> Frame:
    """A row for each form and encoding, a column for each length in tokens."""
    lengths, trained = sorted(set(frame["length"])), trained_on(frame)
    rows = []
    for form, name, group in groups(frame):
        cells = {row.length: bounded(row.mean, row.low, row.high) for row in group.itertuples()}
        row = {"form": form, "encoding": label(name), "seeds": int(group["seeds"].max())}
        rows.append(row | {f"{length_label(n)} ({times(n, trained)})": cells.get(n, "–") for n in lengths})
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        f"Share of passkeys retrieved, {HULL}], by context length in tokens (multiples of the training length). "
        f"{prompts(frame)}. Chance is {CHANCE}. One seed has no interval over seeds: [0, 1]."
    )


TABLE = TableSpec(
    "passkey_over_seeds",
    build,
    caption,
    NOTEBOOK,
    ("form", "encoding", "seeds", "samples", "length", "mean", "low", "high", "trained"),
    "BAM, Figs. 2 and 13",
)
