"""Goat and its rivals on text: loss by length, and the paired differences at the training length and far beyond."""

from attention_priors.figures import panels
from attention_priors.figures.goat.order import GOAT, NOTEBOOK, ordered
from attention_priors.figures.methods import alone, label, named_runs, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from attention_priors.figures.words import bounded, times, trained_on

FAR = 16  # times the training length: the paper's farthest
TALL = 2.0  # nats above the best at T, where panels end


def shown(frame: Frame) -> Frame:
    """Text of the kind trained on, up to FAR times the training length."""
    rows = frame[frame["trained_on"].astype(bool) & (frame["length"] <= FAR * frame["trained"])]
    return rivals(rows, "encoding", "Goat on text")


def draw(frame: Frame) -> Figure:
    """A panel an encoding: its loss in colour, the others' in grey behind."""
    rows = shown(frame)
    by_name = {name: rows[rows["encoding"] == name] for name in ordered(rows["encoding"])}
    made = {
        label(name): [*panels.behind(rows, "loss"), panels.over(own, "loss", alone(name))]
        for name, own in by_name.items()
    }
    axis = panels.multiples(rows["length"], trained_on(rows))
    axis["ylim"] = (rows["loss"].min() - 0.1, min(rows["loss"].max() + 0.1, _top(rows)))
    return panels.draw(made, panels.multiple(rows), "loss (nats per token)", across=5, **axis)[0]


def caption(frame: Frame) -> str:
    rows = shown(frame)
    trained, far = trained_on(rows), int(rows["length"].max())
    first = rows.iloc[0]
    table = rows.groupby(["encoding", "length"])["loss"].mean()
    each = "; ".join(
        f"{label(name)} {table[name, trained]:.3f} and {table[name].max() - table[name, trained]:+.3f}"
        for name in ordered(rows["encoding"])
    )
    missed = named_runs(rows[~rows["passed"].astype(bool)])
    gate = f" Missed the gate of word order: {missed}." if missed else ""
    cut = " Lines that leave the frame are cut." if rows["loss"].max() > _top(rows) else ""
    return (
        f"Loss of language models trained on {trained} tokens, on the same last {first['scored']} tokens of "
        f"{first['documents']} held-out documents whatever stands before them. Loss at T, and the most "
        f"that any length up to {times(far, trained)} adds: {each}. Bars: 95 % t interval over seeds; dots: seeds; "
        f"grey: the other encodings.{cut} {named_seeds(rows).capitalize()}.{gate}"
    )


def _top(rows: Frame) -> float:
    return rows[rows["length"] == rows["trained"]]["loss"].min() + TALL


def pairs(frame: Frame) -> Frame:
    """Goat's forms against rivals, on text of the kind trained on."""
    ours, theirs = (frame[column].str.startswith(GOAT) for column in ("encoding", "rival"))
    rows = frame[frame["trained_on"].astype(bool) & (frame["seeds"] > 0) & ours & ~theirs]
    if rows.empty:
        raise NotCompared("Goat's losses less its rivals': no pair passed its gate under this profile")
    return rows


def build(frame: Frame) -> Frame:
    """A row for each form of Goat and rival."""
    made, trained = [], trained_on(pairs(frame))
    for (name, rival), pair in pairs(frame).groupby(["encoding", "rival"], sort=False):
        row = {"Goat": label(name), "rival": label(rival), "seeds": int(pair["seeds"].iloc[0])}
        for found in pair[pair["length"].isin([trained, FAR * trained])].itertuples():
            multiple = f"{found.length // trained}T"
            row[f"gap at {multiple} (nats)"] = bounded(found.gap, found.low, found.high, 3)
            row[f"lower on, {multiple}"] = f"{found.better:.0%}"
        made.append(row)
    return Frame(made).fillna("")


def caption_table(frame: Frame) -> str:
    return (
        "Loss of Goat less that of a rival on the same tokens, paired by document and seed; mean over seeds [95 % t "
        f"interval]; negative: Goat is better. Lower on: the share of {int(pairs(frame)['documents'].iloc[0])} "
        "documents. Models that missed their gate are left out."
    )


FIGURE = FigureSpec(
    "goat_language_perplexity",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 2a",
    claims=("GOAT-F2a", "GOAT-C-6"),
    columns=("encoding", "seed", "length", "loss", "trained", "scored", "documents", "trained_on", "passed"),
    alt="Small panels, one for each encoding, of the loss against context length up to 16 times the training length, "
    "with dots for seeds and the other encodings in grey behind.",
)
TABLE = TableSpec(
    "goat_language_differences",
    build,
    caption_table,
    NOTEBOOK,
    ("trained_on", "encoding", "rival", "length", "seeds", "documents", "gap", "low", "high", "better", "trained"),
    paper="Goat, Fig. 2a",
)
