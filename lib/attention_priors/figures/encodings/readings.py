"""Encodings compared: what carries retrieval, the survey's properties, and a RoPE read in other ways."""

from ...checks.language.survey import property_table
from ...experiments.readings import BENCHMARK, EXTENSIONS, TUNED
from ...positions.encodings import encoding
from .. import forest, lines, style
from ..curves import t_interval
from ..methods import label, numbered
from ..methods import look as look_of
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import bounded, extremes, farthest, listed, times, tokens, trained_on
from .benchmark import NOTEBOOK, TOP


# Which property of a prior carries retrieval
def shown(frame: Frame) -> Frame:
    """The pairs of which some seeds passed. NotCompared where there is none."""
    rows = frame[frame["seeds"] > 0]
    if rows.empty:
        raise NotCompared("encodings_differences: no pair of encodings passed the gate under this profile")
    return rows


def draw_differences(frame: Frame) -> Figure:
    rows, made = shown(frame), []
    for (question, ours, theirs), own in rows.groupby(["question", "ours", "theirs"], sort=False):
        cells = {
            times(row.multiple, 1): forest.Cell(
                (), row.difference, row.low, row.high, style.ORANGE if row.differs else style.DARK, not row.differs
            )
            for row in own.itertuples()
        }
        made.append(forest.Row(f"{label(ours)} − {label(theirs)}", cells, group=question))
    return forest.differences(made, [times(multiple, 1) for multiple in sorted(set(rows["multiple"]))], style.MIDDLE)


def caption_differences(frame: Frame) -> str:
    rows = shown(frame)
    last, trained = farthest(rows, "multiple"), trained_on(rows)
    sure = last[last["differs"]].sort_values("difference", key=abs, ascending=False)
    listed = "; ".join(
        f"{label(row.ours)} − {label(row.theirs)} {bounded(row.difference, row.low, row.high)}"
        for row in sure.drop_duplicates(["ours", "theirs"]).itertuples()
    )
    missed = sorted({f"{label(row.ours)} − {label(row.theirs)}" for row in frame[frame["seeds"] == 0].itertuples()})
    return (
        f"What carries retrieval beyond {trained} tokens: differences within seeds between encodings, grouped "
        f"by the property in question, at multiples of the training length. Bars: 95 % intervals; filled: 0 is "
        f"excluded after Holm's correction for all pairs of a length. At "
        f"{tokens(last['length'].iloc[0], trained)}: {listed or 'none'}. "
        f"{extremes(rows['seeds'])} seeds a pair, those that passed the gate"
        f"{'; none passed of ' + ', '.join(missed) if missed else ''}. KERPLE power is BAM with an exponent between 0 "
        f"and 2 (X-3)."
    )


DIFFERENCES = FigureSpec(
    "encodings_differences",
    draw_differences,
    caption_differences,
    notebook="passkeys",
    claims=("X-11", "X-3"),
    alt="A forest plot: one row for each pair of encodings, grouped by the property in which they differ, with the "
    "difference in accuracy and its interval at several multiples of the training length.",
)


# The survey's table of properties, by tests
def build_properties(frame: Frame) -> Frame:
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


def caption_properties(frame: Frame) -> str:
    own = frame[frame["part"] == "benchmark"]
    return (
        f"The survey's properties of {own['encoding'].nunique()} encodings, by tests. Relative: the scores of one "
        "token everywhere depend on i - j alone, up to a constant of the row; trainable: positions have parameters "
        "that a gradient moves; in each layer: and not added to the input alone. Extrapolates: the loss of language "
        f"models trained on {trained_on(own)} tokens grows by at most 0.1 nats at every length up to 64 times that "
        "(yes), certainly by more at the longest (no), or neither can be told (open); growth with its 95 % t interval "
        "over seeds, –: the encoding has no positions there, or missed the gate of order. The survey: its entries for "
        "the four properties, as reconstructed."
    )


PROPERTIES = TableSpec(
    "language_readings",
    build_properties,
    caption_properties,
    "language_models",
)


# What exchanging two neighbours costs a trained RoPE, read as it was trained and through extensions
ROPE = "rope"


def _rows(frame: Frame) -> Frame:
    """RoPE and the ways to read its weights, once a seed."""
    own = (frame["part"] == BENCHMARK) & (frame["encoding"] == ROPE)
    read = (frame["part"] == EXTENSIONS) & (frame["encoding"].map(lambda name: encoding(name).trained_as) == ROPE)
    rows = frame[own | read].drop_duplicates(["encoding", "seed"])
    return rivals(rows, "encoding", "the order of neighbours in extensions")


def build_neighbours(frame: Frame) -> Frame:
    rows, made = _rows(frame), []
    for name in rows.groupby("encoding")["swap"].mean().sort_values().index:
        own = rows[rows["encoding"] == name]
        means = own[["order_loss", "swap", "bag", "preferred"]].mean()
        made.append(
            {
                "read as": label(name),
                "loss (nats)": f"{means['order_loss']:.2f}",
                "cost of a swap (nats)": bounded(means["swap"], *t_interval(own["swap"])),
                "cost of a bag (nats)": f"{means['bag']:.2f}",
                "true order preferred": f"{means['preferred']:.2f}",
            }
        )
    return Frame(made)


def caption_neighbours(frame: Frame) -> str:
    rows = _rows(frame)
    counts = rows.groupby("encoding")["seed"].nunique()
    return (
        f"What exchanging two neighbours costs a trained RoPE, read in several ways: mean over {extremes(counts)} "
        f"seeds [95 % t interval; none for one seed] of {rows['pairs'].iloc[0]} held-out texts of 32 tokens. A bag: "
        "all but the last token shuffled. Preferred: share of texts in which the true order is the better one; 1/2 is "
        "chance."
    )


NEIGHBOURS = TableSpec(
    "language_readings",
    build_neighbours,
    caption_neighbours,
    "language_models",
)


# A trained RoPE read in other ways
MULTIPLES = (1, 4, 16, 64)  # of the training length: the panels
# Under each question: part, row, name.
GROUPS = {
    "as trained": ((BENCHMARK, "rope", "RoPE"), (BENCHMARK, "rope-ssmax", "RoPE SSMax")),
    "set once, by 16": (
        (EXTENSIONS, "rope-pi", "interpolation"), (EXTENSIONS, "rope-ntk", "NTK"),
        (EXTENSIONS, "rope-partial-ntk", "NTK by parts"), (EXTENSIONS, "rope-yarn", "YaRN"),
        (EXTENSIONS, "rope-llama3", "Llama 3")),
    "by the text's length": (
        (EXTENSIONS, "rope-dynamic-linear", "dynamic linear"), (EXTENSIONS, "rope-dynamic-ntk", "dynamic NTK")),
    "lags cut": ((EXTENSIONS, "rope-rerope", "ReRoPE"), (EXTENSIONS, "rope-leaky-rerope", "Leaky ReRoPE")),
    "how far": (
        (EXTENSIONS, "rope-pi-4", "interpolation, 4"), (EXTENSIONS, "rope-ntk-2", "NTK, 2"),
        (EXTENSIONS, "rope-ntk-4", "NTK, 4"), (EXTENSIONS, "rope-ntk-8", "NTK, 8")),
    "trained further": ((TUNED, "rope", "RoPE +"), (TUNED, "rope-pi-4", "interpolation, 4 +")),
    "a longer base": (
        (EXTENSIONS, "rope-base-50", "base × 50"), (EXTENSIONS, "rope-base-100", "base × 100"),
        (EXTENSIONS, "rope-ssmax-base-50", "SSMax, base × 50"),
        (EXTENSIONS, "rope-ssmax-base-100", "SSMax, base × 100")),
}  # fmt: skip


def draw_extensions(frame: Frame) -> Figure:
    shown = _shown(frame)
    trained, there = int(shown["trained_at"].iloc[0]), set(shown["length"])
    lengths = [m * trained for m in MULTIPLES if m * trained in there] or [min(there), max(there)]
    titles = {n: f"{style.length_label(n)} tokens ({times(n, trained)})" for n in lengths}
    made = []
    for group, rows in GROUPS.items():
        for part, name, text in rows:
            own = shown[(shown["part"] == part) & (shown["encoding"] == name)]
            if cells := forest.cells(own, "growth", titles):
                look = (look_of(name)["color"], "^") if group == "as trained" else (style.DARK, "o")
                made.append(forest.Row(text, cells, *look, group))
    means = shown[shown["length"].isin(lengths)].groupby(["part", "encoding", "length"])["growth"].mean()
    spare = 0.15 * max(means.max() - means.min(), TOP)
    span = min(means.min(), 0) - spare, means.max() + spare  # an interval of two seeds would dwarf all means
    fig, axes = forest.draw(made, list(titles.values()), "growth of the loss (nats)", xlim=span)
    for ax in axes:
        lines.place(ax, 0, zorder=0)
    return fig


def _shown(frame: Frame) -> Frame:
    """The rows of GROUPS, at the lengths of the extensions."""
    rivals(frame[frame["part"].isin((EXTENSIONS, TUNED))], "encoding", "extensions of a trained RoPE")
    keys = {(part, name) for rows in GROUPS.values() for part, name, _ in rows}
    rows = frame[[pair in keys for pair in zip(frame["part"], frame["encoding"], strict=True)]]
    lengths = set(rows[rows["part"] == EXTENSIONS]["length"])
    trained = int(frame[frame["part"] == BENCHMARK]["trained"].min())
    return rows[rows["length"].isin(lengths)].assign(trained_at=trained)


def caption_extensions(frame: Frame) -> str:
    shown = _shown(frame)
    first, far = shown.iloc[0], int(shown["length"].max())
    ends = shown[(shown["part"] != TUNED) & (shown["length"] == far)].groupby("encoding")["growth"].mean().sort_values()
    named = numbered(ends[:3], "+.2f")
    tuned = frame[frame["part"] == TUNED]["trained"]
    plus = f"+: trained further on texts of {int(tuned.max())} tokens; " if len(tuned) else ""
    return (
        f"A RoPE model trained on {first['trained_at']} tokens, read in other ways: loss on the last {first['scored']} "
        f"tokens of {first['documents']} held-out documents, above that of the trained model at its training "
        f"length (dotted line). {plus}SSMax: the model with scalable softmax, above its own loss there. Numbers "
        f"behind a name are factors. Mark: mean over seeds; bar: 95 % t interval, which the frame may cut; dots above: "
        f"seeds {listed(shown['seed'])}. Lowest at {far:,} tokens without further training: {named}."
    )


EXTENSIONS_FIGURE = FigureSpec(
    "language_readings",
    draw_extensions,
    caption_extensions,
    notebook=NOTEBOOK,
    claims=("BAM-C12", "PE-DNTK-E", "PE-F7", "PE-F8", "PE-F9", "PE-NTK-E", "PE-PI", "PE-PI-E2", "PE-REROPE"),
    alt="Rows of the growth of the loss, RoPE as it was trained and its extensions by kind: set once, by the text's "
    "length, lags cut, factors, further training, longer bases; a panel for each of some context lengths.",
)
