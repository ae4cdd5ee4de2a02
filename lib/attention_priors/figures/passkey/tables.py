"""Passkeys as tables: accuracy by form, encoding and length, reach, and who learned the task."""

from ...positions.encodings import ENCODINGS
from ..methods import UNTRAINED, label
from ..spec import Frame, TableSpec
from ..style import length_label
from ..words import CHANCE, GOOD, HULL, bounded, extremes, prompts, times, trained_on
from .lines import NOTEBOOK


# The table of accuracies by form, encoding and length
def groups(frame: Frame) -> list[tuple[str, str, Frame]]:
    """(form, encoding, rows), the plain form first, encodings in the order of ENCODINGS, controls last."""
    order = [*ENCODINGS, UNTRAINED]
    found = [(form, name, rows) for (form, name), rows in frame.groupby(["form", "encoding"])]
    return sorted(found, key=lambda group: (group[0] != "plain", order.index(group[1])))


def build_accuracy(frame: Frame) -> Frame:
    """A row for each form and encoding, a column for each length in tokens."""
    lengths, trained = sorted(set(frame["length"])), trained_on(frame)
    rows = []
    for form, name, group in groups(frame):
        cells = {row.length: bounded(row.mean, row.low, row.high) for row in group.itertuples()}
        row = {"form": form, "encoding": label(name), "seeds": int(group["seeds"].max())}
        rows.append(row | {f"{length_label(n)} ({times(n, trained)})": cells.get(n, "–") for n in lengths})
    return Frame(rows)


def caption_accuracy(frame: Frame) -> str:
    return (
        f"Share of passkeys retrieved, {HULL}], by context length in tokens (multiples of the training length). "
        f"{prompts(frame)}. Chance is {CHANCE}. One seed has no interval over seeds: [0, 1]."
    )


ACCURACY = TableSpec(
    "passkey_over_seeds",
    build_accuracy,
    caption_accuracy,
    NOTEBOOK,
    "BAM, Figs. 2 and 13",
)


# The longest length at which each encoding still answers, by form of the prompt
def build_reach(frame: Frame) -> Frame:
    """Median and extremes over seeds, `>` where the longest tested length was reached."""
    rows = []
    for form, name, group in groups(frame[frame["encoding"] != UNTRAINED]):
        longest, median = int(group["longest_tested"].max()), group["reach"].median()
        each = [f"{'>' if reach == longest else ''}{reach:,}" for reach in sorted(group["reach"])]
        more = ">" if median == longest else ""
        rows.append(
            {
                "form": form,
                "encoding": label(name),
                "seeds": len(group),
                "median (tokens)": f"{more}{median:,.0f}",
                "median / training length": f"{more}{median / trained_on(group):.3g}",
                "lowest (tokens)": each[0],
                "highest (tokens)": each[-1],
                "longest tested (tokens)": longest,
            }
        )
    return Frame(rows)


def caption_reach(frame: Frame) -> str:
    return (
        f"Longest tested length up to which a model's accuracy never fell below {GOOD}, over seeds; 0: below it at the "
        f"training length of {trained_on(frame)} tokens already; >: as far as was tested."
    )


REACH = TableSpec(
    "passkey_reach",
    build_reach,
    caption_reach,
    NOTEBOOK,
    "BAM, abstract (reach)",
)


# Who learned the task, and how fast
def build_gate(frame: Frame) -> Frame:
    """A row for each encoding: how long it took, and whether its models learned the task."""
    rows = []
    for (form, name), own in frame.sort_values("form", ascending=False, kind="stable").groupby(
        ["form", "encoding"], sort=False
    ):
        rows.append(
            {
                "form": form,
                "encoding": label(name),
                "seeds": len(own),
                "passed the gate": f"{int(own['passed'].sum())} of {len(own)}",
                "steps": extremes(own["steps"]),
                "steps at most": int(own["most"].iloc[0]),
                "accuracy up to the training length": bounded(*own["pooled"].agg(["mean", "min", "max"])),
                "worst length": f"{own['worst'].min():.2f}",
            }
        )
    return Frame(rows)


def caption_gate(frame: Frame) -> str:
    return (
        "The gate: a model has learned to retrieve when it answers 0.95 of all prompts at the tested lengths up to the "
        "training length, and 0.90 at each of them. Accuracy: mean over seeds [lowest, highest seed]; worst: the "
        "lowest of any seed and length. A model that misses the gate is shown and decides nothing."
    )


GATE = TableSpec(
    "passkey_gate",
    build_gate,
    caption_gate,
    NOTEBOOK,
)
