"""What the sinks of language models are made of: u by key, mass against the range of content, keys' norms."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.goat import panels
from attention_priors.figures.goat.panels import NOTEBOOK
from attention_priors.figures.methods import label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import counted, trained_on

SINK = 0.3  # of a head's attention on the first key, from which on it counts as a sink; ours
OWN = ("alibi",)  # encodings whose prior prefers the query's own key


def preferred(name: str) -> str:
    """The key that an encoding's heads are followed at: the query's own where the prior prefers it, else the first."""
    return "own" if name in OWN else "first"


def chosen(frame: Frame) -> Frame:
    """The rows of one head of each model: the one whose prior gives the preferred key most, without a prior that key's
    attention."""
    kept = []
    for (name, _), own in frame.groupby(["encoding", "seed"], sort=False):
        key = preferred(name)
        at = own[own["factor"] == 0]
        if np.ptp(at[key]) < 1e-9:  # uniform priors: content alone decides
            at = own[own["factor"] == 1]
        best = at.loc[at[key].idxmax()]
        mine = own[(own["layer"] == best["layer"]) & (own["head"] == best["head"])]
        columns = {part: mine[f"{key}{end}"] for part, end in (("mass", ""), ("least", "_low"), ("most", "_high"))}
        kept.append(mine.assign(**columns))
    return Frame(np.concatenate([own.to_numpy() for own in kept]), columns=kept[0].columns).infer_objects()


def draw(frame: Frame) -> Figure:
    """A panel for each encoding: mass on the preferred key by the range of content, a line for each seed."""
    rivals(frame, "encoding", "sinks_factors")
    rows = chosen(frame)
    names = panels.ordered(rows["encoding"])
    fig, axes = panels.grid(names, height=1.3)
    for ax, name in zip(axes, names, strict=True):
        color, marker = panels.colour(name)
        for _, own in rows[rows["encoding"] == name].groupby("seed"):
            own = own.sort_values("factor")
            x = own["omega"].astype(float)
            ax.fill_between(x, own["least"].astype(float), own["most"].astype(float), color=color, alpha=0.08,
                            linewidth=0)  # fmt: skip
            ax.plot(x, own["mass"], color=color, marker=marker, markersize=2.5, linewidth=0.9)
        panels.shares(ax)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        ax.minorticks_off()
    fig.supxlabel(r"range $\omega$ of the content logits (nats)", fontsize=8)
    fig.supylabel("mass on the preferred key", fontsize=8)
    return fig


def caption(frame: Frame) -> str:
    rows = chosen(frame)
    ends = []
    for name in panels.ordered(rows["encoding"]):
        own = rows[rows["encoding"] == name]
        first, last = (own[own["factor"] == end]["mass"].astype(float).mean() for end in (0, own["factor"].max()))
        ends.append(f"{label(name)} {first:.2f} to {last:.2f}")
    return (
        "Mass on the key that a head's prior prefers (the first; ALiBi: the query's own) as its content logits are "
        f"multiplied by 0 to {frame['factor'].max():g}. Shaded: all that content of that range can do. From no "
        f"content to most: {', '.join(ends)}. One head a model, the one whose prior gives that key most (without a "
        f"prior: that attends to it most); a line a seed; {named_seeds(frame)}."
    )


def draw_keys(frame: Frame) -> Figure:
    """A panel for each encoding: u by key, a line for each head of every seed."""
    rivals(frame, "encoding", "sinks_keys")
    names = panels.ordered(frame["encoding"])
    fig, axes = panels.grid(names, height=1.4)
    for ax, name in zip(axes, names, strict=True):
        color, _ = panels.colour(name)
        for _, own in frame[frame["encoding"] == name].groupby(["seed", "layer", "head"]):
            own = own.sort_values("key")
            ax.plot(own["key"] + 1, own["u"], color=color, linewidth=0.6, alpha=0.6)
        ax.set_xscale("log", base=2)
        ax.set_xticks([1, 4, 16, 64], ["0", "3", "15", "63"])
        ax.minorticks_off()
    for ax in axes:
        ax.set_ylim(*np.nanquantile(frame["u"], [0.005, 0.995]) + [-1.0, 1.0])
    fig.supxlabel("key $j$ (axis: logarithm of $j + 1$)", fontsize=8)
    fig.supylabel("$u(j)$ less its mean (nats)", fontsize=8)
    return fig


def caption_keys(frame: Frame) -> str:
    peaks = []
    for name in panels.ordered(frame["encoding"]):
        own = frame[frame["encoding"] == name]
        tops = own.loc[own.groupby(["seed", "layer", "head"])["u"].idxmax(), "key"]
        peaks.append(f"{label(name)} {int((tops == 0).sum())} of {len(tops)}")
    return (
        f"The trained bias on keys, u(j), of every head of language models trained at {trained_on(frame)} bytes. "
        f"Heads in which it is highest at the first key: {', '.join(peaks)}. {named_seeds(frame).capitalize()}."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding: loss, sinks, the first key's norm, and what content alone would do."""
    rivals(frame, "encoding", "sinks_heads")
    rows = []
    for name in panels.ordered(frame["encoding"]):
        own = frame[frame["encoding"] == name]
        top = own.loc[own.groupby("seed")["mass"].idxmax()]
        sinks = own[own["mass"] >= SINK]
        rows.append({
            "encoding": label(name), "seeds": own["seed"].nunique(), "passed": int(own.groupby("seed")["passed"].first().sum()),
            "loss": round(own.groupby("seed")["loss"].first().mean(), 3), "heads that sink": f"{len(sinks)} of {len(own)}",
            "most mass on key 0": round(top["mass"].mean(), 3), "by content alone": round(top["content_mass"].mean(), 3),
            "by the prior alone": round(top["prior_mass"].mean(), 3), "norm of key 0": round(own["norm"].mean(), 3),
            "in heads that sink": round(sinks["norm"].mean(), 3) if len(sinks) else "",
        })  # fmt: skip
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        f"Attention on the first key in language models, {counted(frame['seed'])}, queries of the second half. A head "
        f"sinks with at least {SINK} of its attention there. The next three columns are of the head of each model "
        "that sinks most; norms are relative to the median of the other keys, over all heads and over those that sink."
    )


BAND = FigureSpec(
    "sinks_factors", draw, caption, notebook=NOTEBOOK, paper="Goat, Fig. 2c", claims=("GOAT-F2c", "GOAT-T5.1t"),
    columns=("encoding", "seed", "layer", "head", "factor", "omega", "first", "own", "first_low", "first_high",
             "own_low", "own_high"),
    alt="A panel for each encoding: mass on the preferred key against the range of the content logits, a line for "
    "each seed inside a shaded band that widens from one point.",
)  # fmt: skip
KEYS = FigureSpec(
    "sinks_keys", draw_keys, caption_keys, notebook=NOTEBOOK, paper="Goat, Fig. 2b", claims=("GOAT-F2b",),
    columns=("encoding", "seed", "layer", "head", "key", "u", "trained"),
    alt="A panel for each form of Goat: the bias on keys by key on a logarithmic axis, a line for each head.",
)  # fmt: skip
TABLE = TableSpec(
    "sinks_heads", build, caption_table, NOTEBOOK,
    ("encoding", "seed", "passed", "loss", "mass", "content_mass", "prior_mass", "norm"),
)  # fmt: skip
