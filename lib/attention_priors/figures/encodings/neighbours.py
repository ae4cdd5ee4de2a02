"""What exchanging two neighbours costs a trained RoPE, read as it was trained and through extensions."""

from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS
from attention_priors.figures.curves import t_interval
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes
from attention_priors.positions.encodings import encoding

ROPE = "rope"


def _rows(frame: Frame) -> Frame:
    """RoPE and the ways to read its weights, once a seed."""
    own = (frame["part"] == BENCHMARK) & (frame["encoding"] == ROPE)
    read = (frame["part"] == EXTENSIONS) & (frame["encoding"].map(lambda name: encoding(name).trained_as) == ROPE)
    rows = frame[own | read].drop_duplicates(["encoding", "seed"])
    return rivals(rows, "encoding", "the order of neighbours in extensions")


def build(frame: Frame) -> Frame:
    rows, made = _rows(frame), []
    for name in rows.groupby("encoding")["swap"].mean().sort_values().index:
        own = rows[rows["encoding"] == name]
        made.append(
            {
                "read as": label(name),
                "loss (nats)": f"{own['order_loss'].mean():.2f}",
                "cost of a swap (nats)": bounded(own["swap"].mean(), *t_interval(own["swap"])),
                "cost of a bag (nats)": f"{own['bag'].mean():.2f}",
                "true order preferred": f"{own['preferred'].mean():.2f}",
            }
        )
    return Frame(made)


def caption(frame: Frame) -> str:
    rows = _rows(frame)
    counts = rows.groupby("encoding")["seed"].nunique()
    return (
        f"What exchanging two neighbours costs a trained RoPE, read in several ways: mean over {extremes(counts)} "
        f"seeds [95 % t interval; none for one seed] of {rows['pairs'].iloc[0]} held-out texts of 32 tokens. A bag: "
        "all but the last token shuffled. Preferred: share of texts in which the true order is the better one; 1/2 is "
        "chance."
    )


TABLE = TableSpec(
    "language_readings",
    build,
    caption,
    "language_models",
    ("part", "encoding", "seed", "order_loss", "swap", "bag", "preferred", "pairs"),
)
