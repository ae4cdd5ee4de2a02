"""Language models: the corpus, two sizes, more text and documents, and perplexity against retrieval."""

import math

from ...experiments.correlation import spearman_permutation
from ...experiments.findings import LEVEL
from ...experiments.readings import BENCHMARK, SMALL
from .. import lines, panels, style
from ..curves import t_interval
from ..methods import label, look
from ..spec import Figure, FigureSpec, Frame, TableSpec, rivals
from ..words import bounded, extremes, listed, times, trained_on


# What text was read
def build_corpus(frame: Frame) -> Frame:
    """Every row names the same corpus and hash, which go into the caption."""
    longer = [name for name in frame.columns if name.startswith("over ")]
    table = frame[["split", "domain", "documents", "tokens", *longer]].copy()
    table["tokens"] = table["tokens"].map("{:,}".format)
    return table.rename(columns={name: f"longer than {int(name.split()[1]):,} tokens" for name in longer})


def caption_corpus(frame: Frame) -> str:
    first = frame.iloc[0]
    known = {"True": "the pinned text", "False": "not the pinned text: numbers may differ from the committed ones"}
    text = known.get(str(first["same"]), "nothing is pinned")
    return (
        f"Documents and tokens of the corpus `{first['corpus']}` ({text}; SHA-256 {first['sha256'][:16]}), byte-level "
        f"BPE of {first['vocabulary']:,} ids. The splits share no document."
    )


CORPUS = TableSpec(
    "language_corpus",
    build_corpus,
    caption_corpus,
    "language_models",
)


# NoPE beside other encodings at two sizes
SIZES = {SMALL: "second size", BENCHMARK: "profile's size"}


def _rows(frame: Frame) -> Frame:
    """Losses at the training length of the encodings that were trained at both sizes."""
    both = set(frame[frame["part"] == SMALL]["encoding"])
    rows = frame[frame["part"].isin(SIZES) & frame["encoding"].isin(both) & (frame["length"] == frame["trained"])]
    return rivals(rows, "encoding", "losses at two sizes")


def build_sizes(frame: Frame) -> Frame:
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


def caption_sizes(frame: Frame) -> str:
    rows = _rows(frame)
    counts = rows.groupby(["part", "encoding"])["seed"].nunique()
    return (
        f"Loss at the training length ({trained_on(rows)} tokens) of models of two sizes, one recipe, mean over "
        f"{extremes(counts)} seeds [95 % t interval over seeds; none for one seed], what exchanging two neighbours "
        "costs them, and how many pass the gate of word order."
    )


SIZES_TABLE = TableSpec(
    "language_readings",
    build_sizes,
    caption_sizes,
    "language_models",
    "the survey's figure on NoPE",
)


# Language models of several sizes on more text and many documents
METRIC, NOTEBOOK = "scale_growth", "language_models"
CLAIMS = ("X-34", "X-35")
LINEAR, GROWN = 0.1, (0, 0.05, 0.1, 0.3, 1, 3)  # nats: the axis is linear up to the first, with these ticks
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


def draw_scale(frame: Frame) -> Figure:
    made, frame = {}, shown(frame)
    for name, rows in frame.groupby("encoding", sort=False):
        made[label(name)] = []
        for place, (parameters, own) in enumerate(rows.groupby("parameters")):
            look = lines.look(*lines.SERIES[place], _size(parameters))
            line = panels.Line(own["length"], own["growth"], look, own["growth_low"], own["growth_high"])
            made[label(name)].append(line)
    axis = panels.multiples(frame["length"], trained_on(frame)) | {"levels": [0], "across": 3, "legend": "above"}
    fig, drawn = panels.draw(made, panels.multiple(frame), "loss above that at T (nats per token)", **axis)
    for ax in drawn:
        ax.set_yscale("symlog", linthresh=LINEAR)
        ax.set_ylim(bottom=min(-LINEAR / 5, frame["growth_low"].min()))
        ax.set_yticks(GROWN, [f"{tick:g}" for tick in GROWN])
        ax.yaxis.minorticks_off()
    return fig


def _about(frame: Frame) -> str:
    rows = shown(frame)
    first = rows.iloc[0]
    return (
        f"Models trained on {first['tokens'] / 1e6:.1f} million tokens in texts of T = {trained_on(frame)}, asked for "
        f"the last {first['scored']} tokens of {int(rows['documents'].max())} held-out documents, whatever stands "
        f"before them; {extremes(rows['seeds'])} seeds that know word order; {CROSSED}.{_missed(frame)}"
    )


def caption_scale(frame: Frame) -> str:
    far, known, said = int(frame["length"].max()), shown(frame), []
    for _, rows in known[known["length"] == far].groupby("width"):
        each = ", ".join(f"{label(row.encoding)} {row.growth:+.2f}" for row in rows.itertuples())
        said.append(f"{_size(rows['parameters'].min())}: {each}")
    adds = f"What {times(far, trained_on(frame))} adds, in nats: {'; '.join(said)}"
    axis = f"What context beyond T adds to the loss (linear up to {LINEAR:g} nats, logarithmic beyond)"
    return f"{axis}. {adds}. {_about(frame)}"


def build_scale(frame: Frame) -> Frame:
    """A row for each encoding and size: the loss at T and far beyond, and its growth."""
    trained, far = trained_on(frame), int(frame["length"].max())
    rows = []
    for (name, parameters), own in shown(frame).groupby(["encoding", "parameters"], sort=False):
        at = own.set_index("length")
        rows.append(
            {"encoding": label(name), "size": _size(parameters), "seeds": int(own["seeds"].iloc[0])}
            | {f"loss at {times(n, trained)}": _told_scale(at.loc[n], "loss") for n in (trained, far)}
            | {"growth": _told_scale(at.loc[far], "growth")}
        )
    return Frame(rows)


def _told_scale(row: Frame, column: str) -> str:
    return bounded(row[column], row[f"{column}_low"], row[f"{column}_high"], 3)


def caption_scale_table(frame: Frame) -> str:
    return f"Loss at the training length and at the longest, and their difference, in nats. {_about(frame)}"


SCALE_FIGURE = FigureSpec(
    METRIC,
    draw_scale,
    caption_scale,
    notebook=NOTEBOOK,
    claims=CLAIMS,
    alt="Small panels, one for each encoding, of the loss above that at the training length, against context length "
    "up to 64 times that length, a line with bars for each size of model.",
)
SCALE_TABLE = TableSpec(METRIC, build_scale, caption_scale_table, NOTEBOOK)


# Perplexity against retrieval, a dot for each encoding
PANELS = 3
LEGEND = 0.165  # inches for each name in it
FINE, EXCESS = 0.01, (0, 0.01, 0.1, 1, 10, 100)  # the axis is linear up to the first, with these ticks


def multiples(frame: Frame) -> list[float]:
    """At most three, from the shortest to the longest, evenly spread."""
    every = sorted(set(frame["multiple"]))
    few = min(PANELS, len(every))
    return [every[round((rank + 1) * len(every) / few) - 1] for rank in range(few)]


def draw_retrieval(frame: Frame) -> Figure:
    rivals(frame, "encoding", "perplexity against retrieval")
    shown = multiples(frame)
    height = max(2.6, LEGEND * len({_seen(name)["label"] for name in frame["encoding"]}))
    fig, axes = style.figure(style.DOUBLE, height, ncols=len(shown), sharex=True, sharey=True, squeeze=False)
    for ax, multiple in zip(axes[0], shown, strict=True):
        for row in _above(frame[frame["multiple"] == multiple]).itertuples():
            own = _seen(row.encoding)
            bars = {"color": own["color"], "linewidth": 0.6, "label": "_bars"}
            if math.isfinite(row.high):
                ax.plot([row.low, row.high], [row.accuracy] * 2, **bars)
            ax.plot([row.perplexity] * 2, [row.accuracy_low, row.accuracy_high], **bars)
            mark = {"color": own["color"], "label": own["label"], "markersize": 5, "zorder": 4}
            mark |= {} if row.decides else {"markerfacecolor": "white"}
            ax.plot(row.perplexity, row.accuracy, own["marker"], **mark)
        ax.set(ylim=(-0.04, 1.04), title=f"at {multiple:.3g}×")
        ax.axvline(LEVEL - 1, **lines.DOTTED, zorder=0, label="_near")
        ax.set_xscale("symlog", linthresh=FINE, linscale=0.5)
        most = _above(frame)["perplexity"].max()
        ticks = [tick for tick in EXCESS if tick <= 1.5 * most]
        ax.set_xlim(-FINE / 2, 1.5 * most)
        ax.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
        ax.xaxis.minorticks_off()
    panels.letter(axes[0])
    axes[0, 0].set_ylabel("share of passkeys retrieved")
    axes[0, len(shown) // 2].set_xlabel("perplexity of text above the lowest at that multiple of the training length")
    style.legend(fig, [axes[0, 0]], "right center")
    return fig


def _seen(name: str) -> dict[str, object]:
    """The look of an encoding, or that of all which have none of their own."""
    try:
        return look(name)
    except ValueError:
        return {"color": style.GREY, "marker": "o", "label": "others"}


def _above(frame: Frame) -> Frame:
    """How far perplexities and their intervals lie above the lowest at each multiple, as a share of it."""
    lowest = frame.groupby("multiple")["perplexity"].transform("min")
    return frame.assign(**{name: frame[name] / lowest - 1 for name in ("perplexity", "low", "high")})


def caption_retrieval(frame: Frame) -> str:
    first, gone = frame.iloc[0], sorted(set(frame.loc[~frame["decides"].astype(bool), "encoding"]))
    missed = f" Open: a gate was missed ({listed(map(label, gone))}), not in ρ." if gone else ""
    said = "; ".join(f"{multiple:.3g}×: {_told_retrieval(frame, multiple)}" for multiple in multiples(frame))
    return (
        f"Perplexity of language models and passkeys retrieved, at the same multiple of the training length of either "
        f"task. A mark for each encoding, mean over {extremes([*frame['seeds'], *frame['prompt_seeds']])} seeds with "
        f"bars for 95 % intervals.{missed} Spearman's ρ over encodings, with a bootstrap interval over them and the p "
        f"of a permutation test, not corrected for the panels: {said}. Near (left of the dotted line): within "
        f"{LEVEL:g} times the lowest perplexity. Retrieval is asked with {first['prompts']} prompts a seed at the "
        "shortest of these lengths."
    )


def _told_retrieval(frame: Frame, multiple: float) -> str:
    """ρ of what passed both gates at one multiple, and of those among them whose perplexity is near the best."""
    every = frame[(frame["multiple"] == multiple) & frame["decides"].astype(bool)]
    near = every[every["perplexity"] <= LEVEL * every["perplexity"].min()]
    found, level = (spearman_permutation(rows, "encoding", "perplexity", "accuracy") for rows in (every, near))
    if math.isnan(found.rho):
        return f"undefined ({found.n} encodings)"
    told = f"{bounded(found.rho, found.low, found.high)}, p = {found.p:.2g} ({found.n} encodings)"
    if math.isnan(level.rho) or level.n == found.n:
        return told
    return f"{told}, of the {level.n} near the best {bounded(level.rho, level.low, level.high)}"


RETRIEVAL = FigureSpec(
    "perplexity_and_retrieval",
    draw_retrieval,
    caption_retrieval,
    notebook="language_models",
    claims=("BAM-C7",),
    alt="Scatter plots at a few context lengths: perplexity above the lowest, on a log axis, against the share of "
    "passkeys retrieved, a marker with two thin bars for each encoding, open where a gate was missed.",
)
