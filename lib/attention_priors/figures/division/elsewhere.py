"""Compositions on text and on a needle, beside passkeys and addresses."""

from attention_priors.experiments.elsewhere import NEEDLES, TEXT
from attention_priors.figures.division.kinds import NOTEBOOK, kind
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import bounded

METRIC = "division_elsewhere"
NAMES = {TEXT: "text, nats", NEEDLES[0]: "needle in filler", NEEDLES[1]: "needle in prose"}


def _ends(own: Frame) -> list[float]:
    """T, and the longest multiple of it that a task was asked."""
    return sorted({1.0, own["multiple"].max()})


def build(frame: Frame) -> Frame:
    """A row for each encoding, two columns for each task: at T and far beyond it."""
    rows = []
    for name, own in rivals(frame, "encoding", METRIC).groupby("encoding", sort=False):
        row = {"encoding": label(name), "rotates": kind(name)}
        for task, words in NAMES.items():
            for multiple in _ends(frame[frame["task"] == task]) if task in set(frame["task"]) else ():
                found = own[(own["task"] == task) & (own["multiple"] == multiple)]
                row[f"{words}, at {multiple:.3g}×"] = _said(found)
        rows.append(row)
    return Frame(rows).fillna("")


def _said(found: Frame) -> str:
    if found.empty:
        return "not trained"
    one = found.iloc[0]
    if not one["passed"]:
        return f"gate missed (0 of {one['seeds']} seeds passed)"
    missed = f" ({one['passed']} of {one['seeds']} seeds)" if one["passed"] < one["seeds"] else ""
    return bounded(one["value"], one["low"], one["high"]) + missed


def caption(frame: Frame) -> str:
    return (
        "Compositions on two more tasks, each with models and a training length of its own: loss on text of the kind "
        "trained on, in nats a byte at equal tokens, and the share of RULER's single needles answered, in repeated "
        "filler and in prose; at the training length and at the longest that was asked. Mean over the seeds that "
        "passed the gate of the task [95 % interval]; in brackets how many did, where not all."
    )


TABLE = TableSpec(
    METRIC, build, caption, NOTEBOOK, ("encoding", "task", "multiple", "seeds", "passed", "value", "low", "high")
)
