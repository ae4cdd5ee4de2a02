"""Bits per base of language models beside those of Markov chains: figure and table."""

import math

import pandas as pd

from attention_priors.experiments.genomes import ALL, GATE, NEW
from attention_priors.figures import panels, style
from attention_priors.figures.curves import t_interval
from attention_priors.figures.genomes.looks import NOTEBOOK, drawn
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, counted, listed

TITLES = {NEW: "new to the training text", ALL: "all, repeats too"}
GAP = 1.5  # orders between the last chain and the first model


def models(frame: Frame) -> Frame:
    """The rows that are models."""
    return frame[frame["encoding"].notna()]


def draw(frame: Frame) -> Figure:
    """A panel for the windows that decide and one for all: chains by order, then a column for each encoding."""
    names = list(dict.fromkeys(rivals(models(frame), "encoding", "genomes_bits")["encoding"]))
    fig, axes = style.figure(style.MIDDLE, 2.9, ncols=2)
    for ax, (part, title) in zip(axes, TITLES.items(), strict=True):
        rows = frame[frame["windows"] == part]
        chains = rows[rows["encoding"].isna()]
        ax.plot(chains["order"], chains["bits"], color=style.GREY, marker="o", markersize=2.5, label="Markov chains")
        floor = float(chains.loc[chains["order"] == GATE, "bits"].iloc[0])
        if part == NEW:
            ax.axhline(floor, color=style.DARK, linewidth=0.7, linestyle=":", zorder=0)
        first = chains["order"].max() + GAP
        for place, name in enumerate(names):
            own, seen = rows[rows["encoding"] == name], drawn(name)
            low, high = t_interval(own["bits"])
            x = first + place * GAP
            if math.isfinite(high - low):
                style.interval_bars(ax, [x], [low], [high], seen["color"], linewidth=1)
            style.seed_dots(ax, [x] * len(own), own["bits"], seen["color"], right=4)
            ax.plot(x, own["bits"].mean(), seen["marker"], color=seen["color"], markersize=4, markeredgewidth=0.8)
        orders = [int(order) for order in chains["order"] if order % 4 == 0]
        places = [first + place * GAP for place in range(len(names))]
        ax.set_xticks([*orders, *places], [*orders, *(label(name) for name in names)])
        for tick in ax.get_xticklabels()[len(orders) :]:
            tick.set(rotation=60, ha="right", rotation_mode="anchor")
        ax.set(title=title, xlabel="order of the chain; encoding of the model")
    axes[0].set_ylabel("bits per base")
    axes[0].legend(loc="upper right")
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    new = frame[frame["windows"] == NEW]
    chains, rows = new[new["encoding"].isna()], models(new)
    means = rows.groupby("encoding", sort=False)["bits"].mean()
    floor = float(chains.loc[chains["order"] == GATE, "bits"].iloc[0])
    passed = int(rows["passed"].astype(bool).sum())
    said = ", ".join(f"{label(name)} {bits:.3f}" for name, bits in means.items())
    return (
        f"Bits per base on {int(chains['count'].iloc[0])} validation windows that share no 32 bases with the training "
        f"text. {said}; the best Markov chain {chains['bits'].min():.3f}. Dotted: order {GATE} ({floor:.3f}), which a "
        f"model has to beat ({passed} of {len(rows)} do). Panel b: all windows. Seeds "
        f"{listed(rows['seed'].astype(int))}."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding."""
    rivals(frame, "encoding", "genomes_models")
    return pd.DataFrame(
        {
            "encoding": label(row.encoding),
            "seeds": row.seeds,
            f"pass (below order {GATE})": row.passed,
            "bits per base, new windows": bounded(row.new, row.new_low, row.new_high, 4),
            "all windows": bounded(row.all, row.all_low, row.all_high, 4),
            "lowest order as good": "none" if math.isnan(row.below) else int(row.below),
        }
        for row in frame.itertuples()
    )


def caption_table(frame: Frame) -> str:
    return (
        f"Language models of a genome: bits per base, mean over {counted(range(int(frame['seeds'].max())))} [95 % t "
        f"interval]. A Markov chain of order {GATE} takes {frame['floor'].iloc[0]:.4f} on the new windows, which share "
        "no 32 bases with the training text; last column: the lowest order whose chain takes no more than the model."
    )


FIGURE = FigureSpec(
    "genomes_bits",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4", "GOAT-C-8"),
    columns=("windows", "order", "bits", "count", "encoding", "seed", "passed", "scored", "trained"),
    alt="Two panels of bits per base: Markov chains by order as a falling line, then a column for each encoding with "
    "its seeds; a, windows new to the training text, b, all windows.",
)
TABLE = TableSpec(
    "genomes_models",
    build,
    caption_table,
    NOTEBOOK,
    ("encoding", "seeds", "passed", "new", "new_low", "new_high", "all", "all_low", "all_high", "floor", "below"),
    paper="Goat, Fig. 4",
)
