"""What the sinks of language models are made of: u by key, mass against the range of content, keys' norms."""

from attention_priors.experiments.sinks import SINK
from attention_priors.figures import style
from attention_priors.figures.goat import panels
from attention_priors.figures.goat.panels import NOTEBOOK
from attention_priors.figures.methods import label, paint
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from attention_priors.figures.words import listed

TASKS = {"copying": "copies", "language": "text"}  # the models' tasks, as panels and tables call them


def arms(frame: Frame) -> list[tuple[str, str, Frame]]:
    """(task, encoding, rows) of the models that have passed their gate, copies first, Goat's forms first."""
    kept = frame[frame["passed"].astype(bool)]
    found = []
    for task in TASKS:
        own = kept[kept["task"] == task]
        found += [(task, name, own[own["encoding"] == name]) for name in panels.ordered(own["encoding"])]
    return found


def grid(frame: Frame, what: str, height: float) -> tuple[Figure, list, list[tuple[str, str, Frame]]]:
    """A panel for each arm, titled with encoding and task."""
    rivals(frame, "encoding", what)
    each = arms(frame)
    if not each:
        raise NotCompared(f"{what}: no model passed its gate under this profile; a larger one has some")
    fig, axes = panels.grid([name for _, name, _ in each], height=height)
    for ax, (task, _, _) in zip(axes, each, strict=True):
        ax.set_title(f"{ax.get_title()}\n({TASKS[task]})", color=ax.title.get_color(), fontsize=style.SMALLEST)
    return fig, axes, each


def draw(frame: Frame) -> Figure:
    """Mass on the preferred key by the range of content, a panel for each task and encoding, a line for each seed."""
    fig, axes, each = grid(frame, "sinks_band", 1.3)
    for ax, (_, name, rows) in zip(axes, each, strict=True):
        color, marker = paint(name)
        for _, own in rows.groupby("seed"):
            own = own.sort_values("factor")
            ax.fill_between(own["omega"], own["least"], own["most"], color=color, alpha=0.08, linewidth=0)
            ax.plot(own["omega"], own["mass"], color=color, marker=marker, markersize=2.5, linewidth=0.9)
        panels.shares(ax)
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        ax.minorticks_off()
    fig.supxlabel(r"range $\omega$ of the content logits (nats)")
    fig.supylabel("mass on the preferred key")
    return fig


def caption(frame: Frame) -> str:
    ends = []
    for task, name, own in arms(frame):
        first, last = (own[own["factor"] == end]["mass"].mean() for end in (0, own["factor"].max()))
        ends.append(f"{label(name)} on {TASKS[task]} {first:.2f} to {last:.2f}")
    return (
        "Mass on the key that a head's prior prefers (the first; ALiBi: the query's own) as its content logits are "
        f"multiplied by 0 to {frame['factor'].max():g}. Shaded: all that content of that range can do. From no "
        f"content to most: {', '.join(ends)}. One head a model, the one whose prior gives that key most (without a "
        f"prior: that attends to it most); a line a seed; {_seeds(frame)}."
    )


def _seeds(frame: Frame) -> str:
    """The seeds of each task."""
    return "; ".join(f"{TASKS[task]}: seeds {listed(own['seed'])}" for task, own in frame.groupby("task"))


def draw_keys(frame: Frame) -> Figure:
    """u by key, a panel for each task and form of Goat, a line for each head of every seed."""
    fig, axes, each = grid(frame, "sinks_keys", 1.4)
    for ax, (_, name, rows) in zip(axes, each, strict=True):
        color, _ = paint(name)
        for _, own in rows.groupby(["seed", "layer", "head"]):
            own = own.sort_values("key")
            ax.plot(own["key"] + 1, own["u"], color=color, linewidth=0.5)
        ax.set_xscale("log", base=2)
        ax.set_xticks([1, 4, 16, 64], ["0", "3", "15", "63"])
        ax.minorticks_off()
    fig.supxlabel("key $j$ (axis: logarithm of $j + 1$)")
    fig.supylabel("$u(j)$ less its mean (nats)")
    return fig


def caption_keys(frame: Frame) -> str:
    peaks = []
    for task, name, own in arms(frame):
        tops = own.loc[own.groupby(["seed", "layer", "head"])["u"].idxmax(), "key"]
        peaks.append(f"{label(name)} on {TASKS[task]} {int((tops == 0).sum())} of {len(tops)}")
    return (
        "The trained bias on keys, u(j), of every head, in models of the mixture of copies and in language models. "
        f"Heads in which it is highest at the first key: {', '.join(peaks)}. {_seeds(frame).capitalize()}."
    )


def build(frame: Frame) -> Frame:
    """A row for each task and encoding: loss, sinks, the first key's norm, and what content alone would do."""
    rivals(frame, "encoding", "sinks_heads")
    rows = []
    for (task, name), own in frame.groupby(["task", "encoding"], sort=False):
        models, top = own.groupby("seed").first(), own.loc[own.groupby("seed")["mass"].idxmax()]
        sinks = own[own["mass"] >= SINK]
        rows.append({
            "task": TASKS[task], "encoding": label(name), "seeds": len(models), "passed": int(models["passed"].sum()),
            "loss": f"{models['loss'].mean():.3f}", "heads that sink": f"{len(sinks)} of {len(own)}",
            "most mass on key 0": f"{top['mass'].mean():.3f}", "by content alone": f"{top['content_mass'].mean():.3f}",
            "by the prior alone": f"{top['prior_mass'].mean():.3f}", "norm of key 0": f"{own['norm'].mean():.3f}",
            "in heads that sink": f"{sinks['norm'].mean():.3f}" if len(sinks) else "",
        })  # fmt: skip
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        "Attention on the first key, queries of the second half; loss: in nats, on copies above the best prediction of "
        "the texts that are read here, by which such models pass or not. A "
        f"head sinks with at least {SINK} of its attention there. The next three columns are of the head of each model "
        "that sinks most; norms are relative to the median of the other keys, over all heads and over those that sink."
    )


BAND = FigureSpec(
    "sinks_band", draw, caption, notebook=NOTEBOOK, paper="Goat, Fig. 2c", claims=("GOAT-F2c", "GOAT-T5.1t"),
    columns=("task", "encoding", "seed", "passed", "factor", "omega", "mass", "least", "most"),
    alt="A panel for each task and encoding: mass on the preferred key against the range of the content logits, a line "
    "for each seed inside a shaded band that widens from one point.",
)  # fmt: skip
KEYS = FigureSpec(
    "sinks_keys", draw_keys, caption_keys, notebook=NOTEBOOK, paper="Goat, Fig. 2b", claims=("GOAT-F2b",),
    columns=("task", "encoding", "seed", "passed", "layer", "head", "key", "u"),
    alt="A panel for each task and form of Goat: the bias on keys by key on a logarithmic axis, a line for each head.",
)  # fmt: skip
TABLE = TableSpec(
    "sinks_heads", build, caption_table, NOTEBOOK,
    ("task", "encoding", "seed", "passed", "loss", "mass", "content_mass", "prior_mass", "norm"),
)  # fmt: skip
