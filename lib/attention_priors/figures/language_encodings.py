"""All encodings as language models, and a trained RoPE read in other ways: growth of the loss with the context."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.experiments.benchmark import OWN
from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, TUNED
from attention_priors.figures import style
from attention_priors.figures.encodings import FAMILIES, label_map
from attention_priors.figures.language import over_seeds
from attention_priors.figures.passkey_tables import times
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.positions.encodings import encoding

NOTEBOOK = "09_language_models"
TOP = 0.5  # nats at which the colours end: 65 % more perplexity
MULTIPLES = (4, 16, 64)
BARE = "RoPE"
# One panel for each question: title, and (part, row, name at the line's end).
PANELS = (
    ("set once, by 16", ((BENCHMARK, "rope", BARE), (EXTENSIONS, "rope-pi", "interpolation"),
                         (EXTENSIONS, "rope-ntk", "NTK"), (EXTENSIONS, "rope-partial-ntk", "NTK by parts"),
                         (EXTENSIONS, "rope-yarn", "YaRN"), (EXTENSIONS, "rope-llama3", "Llama 3"))),
    ("by the text's length, or lags cut", (
        (BENCHMARK, "rope", BARE), (EXTENSIONS, "rope-dynamic-linear", "dynamic linear"),
        (EXTENSIONS, "rope-dynamic-ntk", "dynamic NTK"), (EXTENSIONS, "rope-rerope", "ReRoPE"),
        (EXTENSIONS, "rope-leaky-rerope", "Leaky ReRoPE"))),
    ("how far, and trained further (+)", (
        (BENCHMARK, "rope", BARE), (EXTENSIONS, "rope-pi-4", "interpolation, 4"), (EXTENSIONS, "rope-ntk-2", "NTK, 2"),
        (EXTENSIONS, "rope-ntk-4", "NTK, 4"), (EXTENSIONS, "rope-ntk-8", "NTK, 8"),
        (TUNED, "rope-pi-4", "interpolation, 4 +"), (TUNED, "rope", "RoPE +"))),
    ("a longer base", (
        (BENCHMARK, "rope", BARE), (EXTENSIONS, "rope-base-50", "base × 50"),
        (EXTENSIONS, "rope-base-100", "base × 100"), (BENCHMARK, "rope-ssmax", "SSMax"),
        (EXTENSIONS, "rope-ssmax-base-50", "SSMax, base × 50"),
        (EXTENSIONS, "rope-ssmax-base-100", "SSMax, base × 100"))),
)  # fmt: skip
LOOKS = (("#4D4D4D", style.SOLID, "X"), ("#D55E00", (5, 1.5), "o"), ("#0072B2", (3, 1), "s"), ("#009E73", (1, 1), "^"),
         ("#CC79A7", (3, 1, 1, 1), "D"), ("#B8860B", (6, 1, 1, 1, 1, 1), "v"), ("#3FA3DB", (2, 1), "P"))  # fmt: skip


def ranked(frame: pd.DataFrame) -> list[str]:
    """Encodings from the most level: by mean growth over the lengths above the training length that all are read at."""
    beyond = frame[frame["length"] > frame["trained"]]
    known = beyond.groupby("length")["state"].agg(lambda states: (states != "left out").all())
    common = beyond[beyond["length"].isin(known[known].index)]
    order = common.groupby("encoding", sort=False)["growth"].mean().fillna(math.inf)
    return list(order.sort_values(kind="stable").index)


def draw_encodings(frame: pd.DataFrame) -> Figure:
    """Columns encoding, family, length, trained, growth, loss_at, state: rows are encodings, cells nats."""
    names, lengths, trained = ranked(frame), sorted(set(frame["length"])), int(frame["trained"].iloc[0])
    cells = frame.pivot(index="encoding", columns="length", values="growth").loc[names, lengths]
    states = frame.pivot(index="encoding", columns="length", values="state").loc[names, lengths]
    first = frame.drop_duplicates("encoding").set_index("encoding").loc[names]
    fig, ax = style.figure(style.DOUBLE, 0.8 + 0.155 * len(names))
    mesh = ax.pcolormesh(
        np.ma.masked_invalid(cells), vmin=0, vmax=TOP, cmap="cividis_r", edgecolor="white", linewidth=0.6
    )
    for (row, column), value in np.ndenumerate(cells.to_numpy()):
        text = {"undefined": "n/a", "left out": ""}.get(states.iloc[row, column], f"{round(value, 2) + 0.0:.2f}")
        color = "black" if np.isnan(value) or value < TOP / 2 else "white"
        ax.text(column + 0.5, row + 0.52, text, ha="center", va="center", fontsize=style.SMALLEST, color=color)
    for row, found in enumerate(first.itertuples()):
        _, color, marker = FAMILIES[found.family]
        ax.plot(-0.12, row + 0.5, marker, color=color, markersize=4, clip_on=False)
        text = f"{math.exp(found.loss_at):.0f}" if found.borrows == OWN else "*"
        ax.text(len(lengths) + 0.12, row + 0.52, text, ha="left", va="center", fontsize=style.SMALLEST)
    ax.text(len(lengths) + 0.12, -0.15, f"perplexity\nat {times(trained, trained)}", ha="left", va="bottom",
            fontsize=style.SMALLEST)  # fmt: skip
    label_map(ax, [encoding(name).label for name in names], lengths, trained)
    bar = fig.colorbar(mesh, ax=ax, ticks=[0, 0.1, 0.3, TOP], aspect=40, pad=0.1, extend="max",
                       label="growth of the loss (nats)")  # fmt: skip
    bar.outline.set_visible(False)
    return fig


def caption_encodings(frame: pd.DataFrame) -> str:
    trained, seeds = int(frame["trained"].iloc[0]), sorted(set(frame["seeds"]))
    wide = (frame["high"] - frame["low"])[(frame["state"] == "read") & (frame["length"] > trained)]
    half = f" Intervals are in the table; half of them are wider than {wide.median():.2f}."
    spread = "" if np.isinf(wide).any() else half
    first = frame.iloc[0]
    return (
        f"{len(ranked(frame))} encodings and extensions as language models: loss on the last {first['scored']} tokens "
        f"of {first['documents']} held-out documents at each context length, above the loss at the training length "
        f"({trained} tokens; 0.1 nats are 10 % more perplexity), mean of "
        f"{'–'.join(map(str, sorted({seeds[0], seeds[-1]})))} seeds. Right: perplexity at the training length; *: the "
        f"weights of another row (RoPE's, SSMax or not), which was not trained for this reading, and the growth is "
        f"over that row's loss. Ordered by the mean growth over the lengths that all are read at. Empty: not read; "
        f"n/a: the encoding ends before.{spread} Colours end at {TOP} nats."
    )


def draw_extensions(frame: pd.DataFrame) -> Figure:
    """Columns part, encoding, seed, length, growth, trained: four panels of growth against context length."""
    fig, axes = style.figure(style.DOUBLE, 4.6, nrows=2, ncols=2, sharex=True, sharey=True)
    shown = _shown(frame)
    for ax, (title, lines) in zip(axes.flat, PANELS, strict=True):
        for (part, name, label), (color, dashes, marker) in zip(lines, LOOKS, strict=False):
            own = shown[(shown["part"] == part) & (shown["encoding"] == name)]
            if own.empty:
                continue
            _line(ax, own, label, color, dashes, marker)
        style.length_axis(ax, sorted(set(shown["length"])), int(shown["trained_at"].iloc[0]))
        ax.axhline(0, color="#999999", linewidth=0.7, zorder=0)
        ax.set_title(title)
    low, high = shown["growth"].min(), shown["growth"].max()
    axes[0, 0].set_ylim(min(low, 0) - 0.05, max(high, TOP) + 0.05)
    for ax in axes[:, 0]:
        ax.set_ylabel("growth of the loss (nats)")
    for ax in axes[1]:
        ax.set_xlabel("context length (tokens)")
    for ax in axes.flat:
        style.direct_labels(ax)
    return fig


def _line(ax: Axes, own: pd.DataFrame, label: str, color: str, dashes: tuple, marker: str) -> None:
    summary = over_seeds(own, "growth", "length")
    style.interval_band(ax, summary["length"], summary["low"], summary["high"], color=color, dashes=dashes)
    style.seed_dots(ax, own["length"], own["growth"], color=color)
    ax.plot(summary["length"], summary["mean"], color=color, dashes=dashes, marker=marker, label=label, zorder=4)


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of PANELS, at the lengths of the extensions."""
    keys = {(part, name) for _, lines in PANELS for part, name, _ in lines}
    rows = frame[[pair in keys for pair in zip(frame["part"], frame["encoding"], strict=True)]]
    lengths = set(rows[rows["part"] == EXTENSIONS]["length"])
    trained = int(frame[frame["part"] == BENCHMARK]["trained"].min())
    return rows[rows["length"].isin(lengths)].assign(trained_at=trained)


def caption_extensions(frame: pd.DataFrame) -> str:
    shown = _shown(frame)
    trained, far = int(shown["trained_at"].iloc[0]), int(shown["length"].max())
    ends = shown[(shown["part"] != TUNED) & (shown["length"] == far)].groupby("encoding")["growth"].mean().sort_values()
    named = ", ".join(f"{encoding(name).label} {value:+.2f}" for name, value in ends.items() if name in ends.index[:3])
    tuned = frame[frame["part"] == TUNED]["trained"]
    seeds = ", ".join(map(str, sorted(set(shown["seed"]))))
    plus = f"+: trained further on texts of {int(tuned.max())} tokens; " if len(tuned) else ""
    return (
        f"A RoPE model trained on {trained} tokens, read in other ways: loss on the last {shown.iloc[0]['scored']} "
        f"tokens of {shown.iloc[0]['documents']} held-out documents, above that of the trained model at its training "
        f"length (grey line). {plus}SSMax: the model with scalable softmax, above its own loss there. Numbers "
        f"behind a name are factors. Line: mean over seeds; band: 95 % t interval; dots: seeds {seeds}. Lowest at "
        f"{far:,} tokens: {named}."
    )


def table_encodings(frame: pd.DataFrame) -> pd.DataFrame:
    """From encodings_perplexity: a row for each encoding, the most level first."""
    trained, made = int(frame["trained"].iloc[0]), []
    for name in ranked(frame):
        own = frame[frame["encoding"] == name].set_index("length")
        first = own.iloc[0]
        borrowed = "" if first["borrows"] == OWN else f" (weights of {encoding(first['borrows']).label})"
        cells = {f"growth at {n}× (nats)": _cell(own.loc[n * trained]) if n * trained in own.index else "–"
                 for n in MULTIPLES}  # fmt: skip
        at = np.exp([first[part] for part in ("loss_at", "low_at", "high_at")])
        made.append({"encoding": encoding(name).label + borrowed, "position": FAMILIES[first["family"]][0],
                     "seeds": first["seeds"], "perplexity at 1×": _bounded(*at, digits=1), **cells})  # fmt: skip
    return pd.DataFrame(made)


def _cell(row: pd.Series) -> str:
    return "–" if row["state"] != "read" else _bounded(row["growth"], row["low"], row["high"], digits=2)


def _bounded(value: float, low: float, high: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return f"{text} [{low:.{digits}f}, {high:.{digits}f}]" if math.isfinite(high) else text


def caption_table(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    return (
        f"{frame['encoding'].nunique()} encodings and extensions as language models, one recipe, "
        f"{first['trained']} tokens of training: perplexity at the training length, and the growth of the loss from "
        f"there to multiples of it, on the same {first['scored']} tokens of {first['documents']} held-out documents "
        "(mean over seeds [95 % t interval over seeds; none for one seed]). For weights of another row the growth is "
        "over that row's loss at the training length. –: not read at that length, or the encoding ends before."
    )


def table_properties(frame: pd.DataFrame) -> pd.DataFrame:
    """From encodings_properties: a row for each encoding; the survey's entries in the order of the columns."""
    words = {True: "yes", False: "no"}
    at = int((frame["length"] / frame["trained"]).max())
    return pd.DataFrame({
        "encoding": frame["label"], "relative": frame["relative"].map(words),
        "trainable": frame["trainable"].map(words), "in each layer": frame["each_layer"].map(words),
        f"growth at {at}× (nats)": [
            "–" if row.length < at * row.trained else _bounded(row.growth, row.low, row.high, digits=2)
            for row in frame.itertuples()
        ],
        "extrapolates": frame["extrapolates"], "the survey": frame["survey"].fillna("").map(lambda text: text or "–"),
    })  # fmt: skip


def caption_properties(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    return (
        f"The survey's properties of {len(frame)} encodings, by tests. Relative: the scores of one token everywhere "
        "depend on i - j alone, up to a constant of the row; trainable: positions have parameters that a gradient "
        "moves; in each layer: and not added to the input alone. Extrapolates: the loss of language models trained on "
        f"{first['trained']} tokens grows by at most 0.1 nats at every length up to 64 times that (yes), certainly not "
        "(no), or neither can be told (open); growth with its 95 % t interval over seeds, –: the encoding has no "
        "positions there. The survey: its entries for the four properties, as reconstructed."
    )


FIGURES = {
    "encodings_perplexity": FigureSpec(
        metrics="encodings_perplexity",
        draw=draw_encodings,
        caption=caption_encodings,
        alt="Heat map with a row for each encoding and a column for each context length, cells with the growth of the "
        "loss in nats; a marker at each row tells how position enters, a number on the right the perplexity at the "
        "training length.",
        paper="",
        notebook=NOTEBOOK,
    ),
    "extensions_perplexity": FigureSpec(
        metrics="language_readings",
        draw=draw_extensions,
        caption=caption_extensions,
        alt="Four panels of growth of the loss against context length, each with RoPE as it was trained: extensions "
        "set once, extensions that follow the text's length or cut lags, factors and further training, longer bases.",
        paper="",
        notebook=NOTEBOOK,
    ),
}
TABLES = {
    "encodings_perplexity": TableSpec("encodings_perplexity", table_encodings, caption_table, "", NOTEBOOK),
    "encodings_properties": TableSpec("encodings_properties", table_properties, caption_properties, "", NOTEBOOK),
}
