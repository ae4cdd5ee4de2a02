"""NoPE beside other encodings at two sizes (the survey's figure after Haviv et al. 2022)."""

from attention_priors.experiments.readings import BENCHMARK, SMALL
from attention_priors.figures.curves import t_interval
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes, trained_on

SIZES = {SMALL: "second size", BENCHMARK: "profile's size"}


def _rows(frame: Frame) -> Frame:
    """Losses at the training length of the encodings that were trained at both sizes."""
    both = set(frame[frame["part"] == SMALL]["encoding"])
    rows = frame[frame["part"].isin(SIZES) & frame["encoding"].isin(both) & (frame["length"] == frame["trained"])]
    return rivals(rows, "encoding", "losses at two sizes")


def build(frame: Frame) -> Frame:
    rows = _rows(frame)
    means = rows[rows["part"] == BENCHMARK].groupby("encoding")["loss"].mean().sort_values()
    made = []
    for name in means.index:
        own = rows[rows["encoding"] == name]
        cells = {}
        for part, size in SIZES.items():
            found = own[own["part"] == part]
            cells |= {
                f"{size}, loss (nats)": bounded(found["loss"].mean(), *t_interval(found["loss"]), digits=3),
                f"{size}, cost of a swap (nats)": f"{found['swap'].mean():.2f}",
                f"{size}, know order": f"{int(found['passed'].sum())} of {len(found)}",
            }
        made.append({"encoding": label(name), **cells})
    return Frame(made)


def caption(frame: Frame) -> str:
    rows = _rows(frame)
    counts = rows.groupby(["part", "encoding"])["seed"].nunique()
    return (
        f"Loss at the training length ({trained_on(rows)} tokens) of models of two sizes, one recipe, mean over "
        f"{extremes(counts)} seeds [95 % t interval over seeds; none for one seed], what exchanging two neighbours "
        "costs them, and how many pass the gate of word order."
    )


TABLE = TableSpec(
    "language_readings",
    build,
    caption,
    "language_models",
    ("part", "encoding", "seed", "length", "trained", "loss", "swap", "passed"),
    "the survey's figure on NoPE",
)
