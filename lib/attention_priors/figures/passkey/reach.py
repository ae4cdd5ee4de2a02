"""The longest length at which each encoding still answers: figure of the whole benchmark, and table by form."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.encodings.accuracy import starred
from attention_priors.figures.encodings.families import FAMILIES, MANY
from attention_priors.figures.methods import OURS, UNTRAINED, label, method, named_seeds
from attention_priors.figures.passkey.accuracy import groups
from attention_priors.figures.passkey.lines import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import CHANCE, GOOD, REACH, times, tokens, trained_on

PAPER = "BAM, abstract (reach)"
APART, WITHIN = 0.2, 0.75  # of a row: from seed to seed, or less so that all lie within


def draw(frame: Frame) -> Figure:
    """A row for each encoding, the farthest on top: a mark a seed, a bar to their median, a tick at the last length."""
    rivals(frame, "encoding", "passkey_reach")
    middle = frame.groupby("encoding")["reach"].agg(["median", "mean"])
    order = list(middle.sort_values(["median", "mean"], kind="stable").index)
    trained = trained_on(frame)
    never = trained / 2  # where a model stands that is below the mark at its training length already
    width = style.SINGLE if len(order) < MANY else style.MIDDLE
    fig, ax = style.figure(width, 0.8 + style.pitch(len(order)) * len(order))
    for y, name in enumerate(order):
        own = frame[frame["encoding"] == name].sort_values("seed")
        _, color, marker = FAMILIES[own["family"].iloc[0]]
        x, last = own["reach"].clip(lower=never).to_numpy(), own["longest_tested"].to_numpy()
        style.bar(ax, [never, np.median(x)], y, color, 3)
        ax.plot(last, [y] * len(own), "|", color=style.PALE, markersize=5, zorder=1, label="_tested")
        places = y + min(APART, WITHIN / len(own)) * (np.arange(len(own)) - (len(own) - 1) / 2)
        for kind, chosen in ((marker, x < last), (">", x >= last)):
            marks = {"markersize": 2.6, "color": color, "markeredgewidth": 0, "label": "_seeds"}
            ax.plot(x[chosen], places[chosen], kind, linestyle="", **marks)
    longest = int(frame["longest_tested"].max())
    quadrupled = [trained * 4**k for k in range(int(np.log2(longest / trained)) // 2 + 1)]
    ticks = style.spaced({*quadrupled, longest}, [trained])
    style.length_axis(ax, [never, *ticks], trained)
    ax.set_xticks([never, *ticks], ["never", *(times(tick, trained) for tick in ticks)])
    ax.set_yticks(range(len(order)), [starred(name) for name in order])
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel=f"longest length at accuracy {GOOD}\n/ training length ({trained} tokens)",
           xlim=(never / 1.2, longest * 1.3), ylim=(-0.8, len(order) - 0.2))  # fmt: skip
    return fig


def caption(frame: Frame) -> str:
    trained, medians = trained_on(frame), frame.groupby("encoding")["reach"].median()
    others = medians[[method(name) != "bam" for name in medians.index]]
    best = ", ".join(label(name) for name in others.index[others == others.max()])
    ended = medians.get(OURS) == frame[frame["encoding"] == OURS]["longest_tested"].max()
    return (
        f"Longest {REACH}, trained on {trained} tokens. A mark for each seed (cross without position, diamond "
        "absolute, triangle upwards rotation, square composition, disc log-prior), the bar ends at their median. "
        f"Triangle to the right: the longest tested length, a grey tick, was reached; never: below {GOOD} at the "
        f"training length already; *: another row's weights. Median of BAM SSMax: {'at least ' if ended else ''}"
        f"{_far(medians.get(OURS), trained)}; longest of encodings other than BAM's: {_far(others.max(), trained)} "
        f"({best}); {named_seeds(frame)}. Chance is {CHANCE}."
    )


def _far(length: float | None, trained: int) -> str:
    return "–" if length is None else tokens(length, trained) if length else "none"


def _trained(frame: Frame) -> Frame:
    return frame[frame["encoding"] != UNTRAINED]


def build(frame: Frame) -> Frame:
    """Median and extremes over seeds, `>` where the longest tested length was reached."""
    rows = []
    for form, name, group in groups(_trained(frame)):
        longest, median = int(group["longest_tested"].max()), group["reach"].median()
        each = [f"{'>' if reach == longest else ''}{reach:,}" for reach in sorted(group["reach"])]
        more = ">" if median == longest else ""
        rows.append({"form": form, "encoding": label(name), "seeds": len(group),
                     "median (tokens)": f"{more}{median:,.0f}",
                     "median / training length": f"{more}{median / trained_on(group):.3g}",
                     "lowest (tokens)": each[0], "highest (tokens)": each[-1],
                     "longest tested (tokens)": longest})  # fmt: skip
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        f"Longest tested length up to which a model's accuracy never fell below {GOOD}, over seeds; 0: below it at the "
        f"training length of {trained_on(frame)} tokens already; >: as far as was tested."
    )


FIGURE = FigureSpec(
    "encodings_reach", draw, caption, notebook=NOTEBOOK, paper=PAPER, claims=("BAM-C1", "X-11"),
    columns=("encoding", "family", "seed", "reach", "longest_tested", "trained"),
    alt="A row for each encoding with a mark for each seed at the longest context length where its accuracy is still "
    f"{GOOD}, on a log axis; marks differ by the way in which position enters, and where the longest tested length was "
    "reached.",
)  # fmt: skip
TABLE = TableSpec(
    "passkey_reach", build, caption_table, NOTEBOOK, ("form", "encoding", "reach", "longest_tested", "trained"), PAPER
)
