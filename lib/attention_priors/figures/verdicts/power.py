"""Which differences between encodings the seeds of a profile can show."""

from attention_priors.experiments.power import COLUMNS
from attention_priors.figures.spec import Frame, NotCompared, TableSpec
from attention_priors.figures.words import extremes, times


def build(frame: Frame) -> Frame:
    """A row for each length and spread, a column for each number of seeds and prompts."""
    if not frame["encodings"].any():
        raise NotCompared("power_measured: no encoding has two seeds that passed the gate under this profile")
    return Frame(
        [
            {
                "prompt length": times(own.length.iloc[0], own.trained.iloc[0]),
                "deviation over seeds": f"{of}, {own.spread.iloc[0]:.2f}",
                **{
                    f"{row.seeds} seeds, {row.prompts} prompts": "none"
                    if row.difference != row.difference
                    else f"{row.difference:.2f}"
                    for row in own.itertuples()
                },
            }
            for (_, of), own in frame.groupby(["multiple", "of"], sort=False)
        ]
    )


def caption(frame: Frame) -> str:
    return (
        "The smallest difference in accuracy between two encodings that is found four times in five, by prompt length "
        "as a multiple of the training length, seeds and prompts, around accuracies of one half. The deviation is that "
        "of models over seeds, measured in the benchmark without what the choice of prompts adds: the median and the "
        f"largest of {extremes(frame['encodings'])} encodings with two seeds or more that passed the gate. Simulated; "
        "a deviation that no models with such means can have counts as the largest that they can."
    )


TABLE = TableSpec("power_measured", build, caption, "verdicts", tuple(COLUMNS))
