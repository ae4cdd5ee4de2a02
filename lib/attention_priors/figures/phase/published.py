"""What small models predict of pairs that BAM's tables rank at 120M and 1B parameters."""

from ...experiments.arms import OURS
from ...experiments.published import CLEAR, MISSING, NOTHING, OPPOSITE, SAME
from ..methods import label
from ..spec import Frame, TableSpec
from ..words import bounded

METRIC = "published_pairs"
PREDICTORS = ("passkeys", "text")


def build(frame: Frame) -> Frame:
    """A row for each pair: where it is ranked and by how much, and the leads of ours with what they say."""
    rows = []
    for (first, second), own in frame.groupby(["first", "second"], sort=False):
        tasks = own[["table", "task", "printed"]].drop_duplicates()
        row = {
            "better in print": label(first),
            "than": label(second),
            "tasks": len(tasks),
            "printed lead": " to ".join(dict.fromkeys(f"{lead:.2f}" for lead in tasks["printed"].agg(["min", "max"]))),
        }
        for predictor in PREDICTORS:
            said = own[own["predictor"] == predictor].iloc[-1]
            lead = "" if said["says"] == MISSING else f" {bounded(said['lead'], said['low'], said['high'])}"
            row[predictor] = f"{said['says']}{lead}"
        rows.append(row)
    return Frame(rows)


def caption(frame: Frame) -> str:
    counted = []
    for predictor in PREDICTORS:
        own = frame[frame["predictor"] == predictor]
        says, others = own["says"].value_counts(), own[~own["first"].eq(OURS)]["says"].value_counts()
        parts = (f"{says.get(outcome, 0)} {outcome}" for outcome in (SAME, OPPOSITE, NOTHING, MISSING))
        beside = f"of those without {label(OURS)} {others.get(SAME, 0)} {SAME}, {others.get(OPPOSITE, 0)} {OPPOSITE}"
        counted.append(f"{predictor}: {', '.join(parts)} ({beside})")
    pairs = len(frame) // len(PREDICTORS)
    return (
        f"The {pairs} pairs (by task) that BAM's Tables 3 (120M parameters) and 4 (1B) rank by {CLEAR} of accuracy or "
        "more beyond the shortest length, and what our models say: the lead of the encoding that is better in print, "
        "of passkeys answered and in nats of text, mean over lengths beyond T, as far as the table reaches "
        f"[95 % t interval over seeds]; one with 0 predicts nothing. {'; '.join(counted)}. There are fewer "
        "than 40 pairs, most of them of one table: no test."
    )


TABLE = TableSpec(
    METRIC,
    build,
    caption,
    notebook="phase_diagram",
)
