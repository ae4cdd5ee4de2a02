"""What the sinks of language models are made of: u by key, and keys' norms."""

from attention_priors.experiments.sinks import SINK
from attention_priors.figures import panels
from attention_priors.figures.goat.order import NOTEBOOK, ordered
from attention_priors.figures.methods import alone, label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from attention_priors.figures.words import listed

TASKS = {"copying": "copies", "language": "text"}  # the models' tasks, as panels and tables call them


def arms(frame: Frame) -> list[tuple[str, str, Frame]]:
    """(task, encoding, rows) of the models that have passed their gate, copies first, Goat's forms first."""
    kept = frame[frame["passed"].astype(bool)]
    found = []
    for task in TASKS:
        own = kept[kept["task"] == task]
        found += [(task, name, own[own["encoding"] == name]) for name in ordered(own["encoding"])]
    return found


def _seeds(frame: Frame) -> str:
    """The seeds of each task."""
    return "; ".join(f"{TASKS[task]}: seeds {listed(own['seed'])}" for task, own in frame.groupby("task"))


def draw(frame: Frame) -> Figure:
    """u by key, a panel for each task and form of Goat, a line for each head of every seed."""
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


def caption(frame: Frame) -> str:
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


def caption_table(frame: Frame) -> str:
    return (
        "Attention on the first key, queries of the second half; loss: in nats, on copies above the best prediction of "
        "the texts that are read here, by which such models pass or not. A "
        f"head sinks with at least {SINK} of its attention there. The next three columns are of the head of each model "
        "that sinks most; norms are relative to the median of the other keys, over all heads and over those that sink."
    )


KEYS = FigureSpec(
    "sinks_keys",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 2b",
    claims=("GOAT-F2b",),
    columns=("task", "encoding", "seed", "passed", "layer", "head", "key", "u"),
    alt="A panel for each task and form of Goat: the bias on keys by key on a logarithmic axis, a line for each head.",
)
TABLE = TableSpec(
    "sinks_heads",
    build,
    caption_table,
    NOTEBOOK,
    ("task", "encoding", "seed", "passed", "loss", "mass", "content_mass", "prior_mass", "norm"),
)
