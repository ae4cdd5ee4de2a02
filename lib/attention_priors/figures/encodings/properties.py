"""The survey's table of properties, by tests (PE-TAB)."""

from attention_priors.checks.language.survey import property_table
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import bounded, trained_on


def build(frame: Frame) -> Frame:
    """A row for each encoding; the survey's entries in the order of the columns."""
    frame, words = property_table({"language_readings": frame}), {True: "yes", False: "no"}
    at = int((frame["length"] / frame["trained"]).max())
    return Frame(
        {
            "encoding": frame["label"],
            "relative": frame["relative"].map(words),
            "trainable": frame["trainable"].map(words),
            "in each layer": frame["each_layer"].map(words),
            f"growth at {at}× (nats)": [
                "–" if row.length < at * row.trained else bounded(row.growth, row.low, row.high)
                for row in frame.itertuples()
            ],
            "extrapolates": frame["extrapolates"],
            "the survey": frame["survey"].fillna("").map(lambda text: text or "–"),
        }
    )


def caption(frame: Frame) -> str:
    own = frame[frame["part"] == "benchmark"]
    return (
        f"The survey's properties of {own['encoding'].nunique()} encodings, by tests. Relative: the scores of one "
        "token everywhere depend on i - j alone, up to a constant of the row; trainable: positions have parameters "
        "that a gradient moves; in each layer: and not added to the input alone. Extrapolates: the loss of language "
        f"models trained on {trained_on(own)} tokens grows by at most 0.1 nats at every length up to 64 times that "
        "(yes), certainly not (no), or neither can be told of all lengths together (open); growth with its 95 % t "
        "interval over seeds, –: the encoding has no positions there, or missed the gate of order. The survey: its "
        "entries for the four properties, as reconstructed."
    )


TABLE = TableSpec(
    "language_readings",
    build,
    caption,
    "language_models",
    ("part", "domain", "encoding", "seed", "length", "trained", "loss", "growth", "unigram", "passed"),
)
