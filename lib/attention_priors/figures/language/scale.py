"""Language models of several sizes on more text and many documents: loss by length, and what the length adds."""

from attention_priors.figures import panels
from attention_priors.figures.lines import SERIES
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes, times, trained_on

METRIC, NOTEBOOK = "scale_growth", "language_models"
CLAIMS = ("X-34", "X-35")
CROSSED = "95 % intervals take documents and seeds as samples, both at once"


def shown(frame: Frame) -> Frame:
    """The rows of models that know word order."""
    return rivals(frame[frame["seeds"] > 0], "encoding", METRIC)


def _size(parameters: int) -> str:
    return f"{parameters / 1e6:.2g}M parameters"


def _missed(frame: Frame) -> str:
    rows = frame[(frame["seeds"] == 0) & (frame["length"] == frame["trained"])]
    named = ", ".join(f"{label(row.encoding)} of {_size(row.parameters)}" for row in rows.itertuples())
    return f" Missed the gate of word order: {named}." if named else ""


def draw(frame: Frame) -> Figure:
    """A panel an encoding, a line a size."""
    made, frame = {}, shown(frame)
    for name, rows in frame.groupby("encoding", sort=False):
        made[label(name)] = []
        for place, (parameters, own) in enumerate(rows.groupby("parameters")):
            color, dashes, marker = SERIES[place]
            look = {"color": color, "dashes": dashes, "marker": marker, "label": _size(parameters)}
            line = panels.Line(own["length"], own["loss"], look, own["loss_low"], own["loss_high"])
            made[label(name)].append(line)
    axis = panels.multiples(frame["length"], trained_on(frame))
    return panels.draw(made, panels.multiple(frame), "loss (nats per token)", across=3, legend="above", **axis)[0]


def _about(frame: Frame) -> str:
    rows = shown(frame)
    first = rows.iloc[0]
    return (
        f"Models trained on {first['tokens'] / 1e6:.1f} million tokens in texts of T = {trained_on(frame)}, asked for "
        f"the last {first['scored']} tokens of {int(rows['documents'].max())} held-out documents, whatever stands "
        f"before them; {extremes(rows['seeds'])} seeds that know word order; {CROSSED}.{_missed(frame)}"
    )


def caption(frame: Frame) -> str:
    far, known, said = int(frame["length"].max()), shown(frame), []
    for _, rows in known[known["length"] == far].groupby("width"):
        each = ", ".join(f"{label(row.encoding)} {row.growth:+.2f}" for row in rows.itertuples())
        said.append(f"{_size(rows['parameters'].min())}: {each}")
    adds = f"What {times(far, trained_on(frame))} adds, in nats: {'; '.join(said)}"
    return f"Loss by context length. {adds}. {_about(frame)}"


def build(frame: Frame) -> Frame:
    """A row for each encoding and size: the loss at T and far beyond, and its growth."""
    trained, far = trained_on(frame), int(frame["length"].max())
    rows = []
    for (name, parameters), own in shown(frame).groupby(["encoding", "parameters"], sort=False):
        at = own.set_index("length")
        rows.append(
            {"encoding": label(name), "size": _size(parameters), "seeds": int(own["seeds"].iloc[0])}
            | {f"loss at {times(n, trained)}": _told(at.loc[n], "loss") for n in (trained, far)}
            | {"growth": _told(at.loc[far], "growth")}
        )
    return Frame(rows)


def _told(row: Frame, column: str) -> str:
    return bounded(row[column], row[f"{column}_low"], row[f"{column}_high"], 3)


def caption_table(frame: Frame) -> str:
    return f"Loss at the training length and at the longest, and their difference, in nats. {_about(frame)}"


COLUMNS = ("encoding", "width", "parameters", "tokens", "length", "trained", "scored", "seeds", "documents")
ENDS = ("loss", "loss_low", "loss_high")
FIGURE = FigureSpec(
    METRIC,
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=CLAIMS,
    columns=(*COLUMNS, *ENDS, "growth"),
    alt="Small panels, one for each encoding, of the loss against context length up to 64 times the training length, a "
    "line with bars for each size of model.",
)
TABLE = TableSpec(METRIC, build, caption_table, NOTEBOOK, (*COLUMNS, *ENDS, "growth", "growth_low", "growth_high"))
