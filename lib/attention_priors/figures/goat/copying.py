"""Goat taken apart: a head of the mixture of copies, losses against the best prediction, and what sinks are made of."""

import numpy as np

from ...experiments.sinks import SINK
from ...positions.encodings import encoding
from ...tasks.copying import NEAR
from .. import panels, style
from ..methods import alone, label, named_runs
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import counted, farthest, listed, times, trained_on
from .retrieval import NOTEBOOK, ordered

# The mixture of copies
PARTS = {
    "content": "content",
    "spectrum": r"spectrum $\kappa(i-j)$",
    "sink": r"sink $u(j)$",
    "sum": r"$\kappa + u$",
    "prior": r"prior $\pi_i(j)$",
}
SHOWN = 0.98  # of the logits of a head lie between the ends of its colours


def parts(rows: Frame) -> dict[str, np.ndarray]:
    """The five panels of a head, NaN where a query does not see a key.

    The sum is of what is drawn, so that its last row shows what the prior's does.
    """
    found = {part: rows.pivot(index="query", columns="key", values=part).to_numpy() for part in list(PARTS)[:3]}
    total = found["spectrum"] + found["sink"]
    for part in ("spectrum", "sink"):
        found[part] = found[part] - np.nanmean(found[part])
    found["sum"] = total - np.nanmean(total, 1, keepdims=True)
    weights = np.exp(total - np.nanmax(total, 1, keepdims=True))
    found["prior"] = weights / np.nansum(weights, 1, keepdims=True)
    return found


def draw_copying(frame: Frame) -> Figure:
    heads = sorted(set(frame["head"]))
    grid = {"nrows": len(heads), "ncols": len(PARTS), "sharex": True, "sharey": True, "squeeze": False}
    fig, axes = style.figure(style.DOUBLE, 0.35 + 1.45 * len(heads), **grid)
    for row, head in zip(axes, heads, strict=True):
        found = parts(frame[frame["head"] == head])
        end = np.nanquantile(np.abs(np.stack([found[part] for part in PARTS if part != "prior"])), SHOWN)
        for ax, (part, title) in zip(row, PARTS.items(), strict=True):
            shades = {"cmap": "PuOr", "vmin": -end, "vmax": end}
            if part == "prior":
                shades = {"cmap": "cividis", "vmin": 0, "vmax": 1}
            image = ax.imshow(found[part], interpolation="nearest", **shades)
            ax.grid(False)
            if head == heads[0]:
                ax.set_title(title, fontsize=style.SMALLEST)
            if part in ("sum", "prior"):
                bar = fig.colorbar(image, ax=ax, shrink=0.8, extend="both" if part == "sum" else "neither")
                bar.set_label("nats" if part == "sum" else "mass", fontsize=style.SMALLEST)
        row[0].set_ylabel(f"head {head + 1}\nquery $i$")
    for ax in axes[-1]:
        ax.set_xlabel("key $j$")
    return fig


def caption_copying(frame: Frame) -> str:
    shares = []
    for head, own in frame.groupby("head"):
        prior, last = parts(own)["prior"], int(own["query"].max())
        places = {"the first key": prior[3:, 0].mean(), "lag 1": np.mean([prior[i, i - 1] for i in range(3, last + 1)])}
        name = max(places, key=places.get)
        shares.append(f"head {head + 1} puts {places[name]:.3f} on {name}")
    return (
        f"{label(frame['encoding'].iloc[0])} (seed {int(frame['seed'].iloc[0])}) taken apart on the mixture of copies; "
        f"κ + u: row means removed. Without content {' and '.join(shares)}. A line that spectrum and sink can trade "
        "is taken out of the sink."
    )


def build_copying(frame: Frame) -> Frame:
    """A row for each encoding: losses by seed, who has copied, and the masses of its priors."""
    rivals(frame, "encoding", "copying_judged")
    rows = []
    for name, own in frame.groupby("encoding", sort=False):
        prior = encoding(name).prior
        lags, keys = prior(1).split() if prior else ([], [])
        rows.append(
            {
                "encoding": label(name),
                "seeds": len(own),
                "copied": int(own["copied"].sum()),
                "nats above the best": f"{own['excess'].mean():.3f} "
                f"[{own['excess'].min():.3f}, {own['excess'].max():.3f}]",
                "prior on the first key": f"{own['prior_first'].mean():.3f} (least {own['prior_first'].min():.3f})",
                "prior on lag 1": f"{own['prior_previous'].mean():.3f} (least {own['prior_previous'].min():.3f})",
                "peak of u": listed(own["u_peak"]) if keys else "–",
                "peak of κ": listed(own["kappa_peak"]) if lags else "–",
            }
        )
    return Frame(rows)


def caption_copying_table(frame: Frame) -> str:
    one = frame.iloc[0]
    return (
        f"The mixture of copies, {counted(frame['seed'])}: nats above the best prediction of the same symbols (mean "
        f"over seeds [extremes]); copied: at most {NEAR} above. The best loses {one['expected']:.3f} nats, one who "
        f"knows a single copy {one['one_copy']:.3f}. Masses: of the head that has most of it, without content, mean "
        "over queries; peaks: of the parts of that head, over keys and over lags, seed by seed; –: no such part."
    )


def draw_lengths(frame: Frame) -> Figure:
    rivals(frame, "encoding", "copying_by_length")
    made = {}
    for name in ordered(frame["encoding"]):
        own = frame[frame["encoding"] == name].sort_values("length")
        made[label(name)] = [panels.Line(own["length"], own["excess"], alone(name), own["best"], own["worst"])]
    axis = panels.multiples(frame["length"], trained_on(frame)) | {"levels": [NEAR], "yscale": "log"}
    return panels.draw(made, panels.multiple(frame), "nats above the best", **axis)[0]


def caption_lengths(frame: Frame) -> str:
    last = farthest(frame, "length").set_index("encoding")
    trained = trained_on(frame)
    each = (f"{label(row.Index)} {row.excess:.3f} ({row.worst:.3f})" for row in last.sort_values("excess").itertuples())
    return (
        f"Nats above the best prediction by length; bars: extremes of {int(frame['seeds'].max())} seeds; dotted: the "
        f"training length {trained} and our bound. At {times(last['length'].iloc[0], trained)}, with the "
        f"worst seed in brackets: {'; '.join(each)}."
    )


COPYING_FIGURE = FigureSpec(
    "copying_map",
    draw_copying,
    caption_copying,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 1",
    claims=("GOAT-F1",),
    alt="For each of two heads five triangular maps over queries and keys: content, the spectrum constant along "
    "diagonals, the sink constant along columns, their sum, and the prior, which is a bright first column in one head "
    "and a bright diagonal in the other.",
)
LENGTHS = FigureSpec(
    "copying_by_length",
    draw_lengths,
    caption_lengths,
    notebook=NOTEBOOK,
    claims=("GOAT-EQ19",),
    alt="Nats above the best prediction by length on logarithmic axes, a line for each encoding with bars.",
)
COPYING_TABLE = TableSpec(
    "copying_judged",
    build_copying,
    caption_copying_table,
    NOTEBOOK,
)


# What the sinks of language models are made of
TASKS = {"copying": "copies", "language": "text"}  # the models' tasks, as panels and tables call them


def arms(frame: Frame) -> list[tuple[str, str, Frame]]:
    """(task, encoding, rows) of the models that have passed their gate, copies first, Goat's forms first."""
    kept = frame[frame["passed"].astype(bool)]
    found = []
    for task in TASKS:
        own = kept[kept["task"] == task]
        found += [(task, name, own[own["encoding"] == name]) for name in ordered(own["encoding"])]
    return found


def draw_sinks(frame: Frame) -> Figure:
    rivals(frame, "encoding", "sinks_keys")
    made = {}
    for task, name, rows in arms(frame):
        heads = [own.sort_values("key") for _, own in rows.groupby(["seed", "layer", "head"])]
        look = alone(name) | {"marker": "None", "linewidth": 0.5}
        made[f"{label(name)} ({TASKS[task]})"] = [panels.Line(own["key"] + 1, own["u"], look) for own in heads]
    if not made:
        raise NotCompared("sinks_keys: no model passed its gate under this profile; a larger one has some")
    axis = {"base": 2, "xticks": {1: "0", 4: "3", 16: "15", 64: "63"}}
    return panels.draw(made, "key $j$ (axis: logarithm of $j + 1$)", "$u(j)$ less its mean (nats)", **axis)[0]


def caption_sinks(frame: Frame) -> str:
    peaks = []
    for task, name, own in arms(frame):
        tops = own.loc[own.groupby(["seed", "layer", "head"])["u"].idxmax(), "key"]
        peaks.append(f"{label(name)} on {TASKS[task]} {int((tops == 0).sum())} of {len(tops)}")
    seeds = "; ".join(f"{TASKS[task]}: seeds {listed(own['seed'])}" for task, own in frame.groupby("task"))
    failed = frame[~frame["passed"].astype(bool)].drop_duplicates(["task", "encoding", "seed"])
    missed = f" Gate missed, not drawn: {named_runs(failed)}." * bool(len(failed))
    return (
        "The trained bias on keys, u(j), of every head, in models of the mixture of copies and in language models. A "
        "line in j, which looks like a late rise here, can be traded with κ. "
        f"Heads in which it is highest at the first key: {', '.join(peaks)}. {seeds.capitalize()}.{missed}"
    )


def build_sinks(frame: Frame) -> Frame:
    """A row for each task and encoding: loss, sinks, the first key's norm, and what content alone would do."""
    rivals(frame, "encoding", "sinks_heads")
    rows = []
    for (task, name), own in frame.groupby(["task", "encoding"], sort=False):
        models, top = own.groupby("seed").first(), own.loc[own.groupby("seed")["mass"].idxmax()]
        sinks = own[own["mass"] >= SINK]
        rows.append(
            {
                "task": TASKS[task],
                "encoding": label(name),
                "seeds": len(models),
                "passed": int(models["passed"].sum()),
                "loss": f"{models['loss'].mean():.3f}",
                "heads that sink": f"{len(sinks)} of {len(own)}",
                "most mass on key 0": f"{top['mass'].mean():.3f}",
                "by content alone": f"{top['content_mass'].mean():.3f}",
                "by the prior alone": f"{top['prior_mass'].mean():.3f}",
                "norm of key 0": f"{own['norm'].mean():.3f}",
                "in heads that sink": f"{sinks['norm'].mean():.3f}" if len(sinks) else "",
            }
        )
    return Frame(rows)


def caption_sinks_table(frame: Frame) -> str:
    return (
        "Attention on the first key, queries of the second half; loss: in nats, on copies above the best prediction of "
        "the texts that are read here, by which such models pass or not. A "
        f"head sinks with at least {SINK} of its attention there. The next three columns are of the head of each model "
        "that sinks most; norms are relative to the median of the other keys, over all heads and over those that sink."
    )


KEYS = FigureSpec(
    "sinks_keys",
    draw_sinks,
    caption_sinks,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 2b",
    claims=("GOAT-F2b",),
    alt="A panel for each task and form of Goat: the bias on keys by key on a logarithmic axis, a line for each head.",
)
SINKS = TableSpec(
    "sinks_heads",
    build_sinks,
    caption_sinks_table,
    NOTEBOOK,
)
