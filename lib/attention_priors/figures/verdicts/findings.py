"""The findings that the README opens with, each with its number and its figure."""

from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import bounded


def build(frame: Frame) -> Frame:
    return Frame(
        {
            "finding": row.finding,
            "more": row.more,
            "measured": row.measured,
            "value [95 % interval]": bounded(row.value, row.low, row.high),
            "figure": row.figure,
            "notebook": row.notebook,
        }
        for row in frame.itertuples()
    ).replace("nan", "–")


def caption(frame: Frame) -> str:
    return (
        f"{len(frame)} findings on models trained here, each computed from the metrics that its figure draws. Models "
        "that missed their gate decide nothing."
    )


TABLE = TableSpec(
    "findings",
    build,
    caption,
    "verdicts",
    ("finding", "more", "measured", "value", "low", "high", "figure", "notebook"),
)
