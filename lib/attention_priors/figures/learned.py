"""What BAM's heads learned: exponents and where they look (BAM, Fig. 4), and what editing them does."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.evaluation import seed_interval
from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.tasks import passkey

NOTEBOOK = "12_learned_priors"
LAYERS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#4D4D4D", "#3FA3DB")
MARKERS = ("o", "s", "^", "D", "v", "P")
EDIT_DASHES = {"as trained": style.SOLID, "negative to uniform": (5, 1.5), "all uniform": (1, 1),
               "positive to uniform": (3, 1, 1, 1)}  # fmt: skip
EDIT_COLORS = {"as trained": "#D55E00", "negative to uniform": "#0072B2", "all uniform": "#4D4D4D",
               "positive to uniform": "#009E73"}  # fmt: skip
FAINT = 1e-8  # weight below which a point is drawn at the edge of the log axis
LOCAL = 1e-6  # mass below which a point is drawn at the edge of the log axis


def draw_heads(frame: pd.DataFrame) -> Figure:
    """Left: every head's β by layer. Right: its attention to the key sentence against β, all seeds shown."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.5, ncols=2, width_ratios=(1, 1.4))
    uniform = passkey.KEY_TOKENS / (passkey.SHORTEST + 768)
    for layer, rows in frame.groupby("layer"):
        look = {"color": LAYERS[layer % len(LAYERS)], "marker": MARKERS[layer % len(MARKERS)], "linestyle": ""}
        spread = (rows["head"] - rows["head"].mean()) * 0.08 + (rows["seed"] - rows["seed"].mean()) * 0.015
        left.plot(layer + 1 + spread, rows["beta"], markersize=3, alpha=0.8, **look)
        mass = rows["passkey_mass"].clip(lower=LOCAL)
        right.plot(rows["beta"], mass, markersize=3.2, alpha=0.8, label=f"layer {layer + 1}", **look)
    for line in (left.axhline, right.axvline):
        line(0, color="#999999", linewidth=0.8, linestyle=":")
    left.set_xticks(sorted(frame["layer"].unique() + 1))
    left.set_xlabel("layer")
    left.set_ylabel(r"learned $\beta$")
    right.axhline(uniform, color="#7F7F7F", linewidth=0.8, linestyle="--")
    right.text(0.99, uniform, "uniform attention", transform=right.get_yaxis_transform(), ha="right", va="bottom",
               fontsize=style.SMALLEST, color="#555555")  # fmt: skip
    right.set_yscale("log")
    right.set_xlabel(r"learned $\beta$")
    right.set_ylabel("attention on the key sentence")
    right.legend(loc="lower left")
    return fig


def draw_maps(frame: pd.DataFrame) -> Figure:
    """Three heads picked by β: attention of the answering queries over all keys, the key sentence shaded."""
    panels = list(dict.fromkeys(frame["panel"]))
    fig, axes = style.figure(style.DOUBLE, 2.0, ncols=len(panels), sharey=True)
    for ax, panel in zip(np.atleast_1d(axes), panels, strict=True):
        rows = frame[frame["panel"] == panel].sort_values("key")
        start = passkey.DESCRIPTION_TOKENS
        ax.axvspan(start, start + passkey.KEY_TOKENS, color="#F0C9A8", linewidth=0)
        ax.plot(rows["key"], rows["weight"].clip(lower=FAINT), color="#222222", linewidth=0.6)
        first = rows.iloc[0]
        where = f"layer {int(first['layer']) + 1}, head {int(first['head']) + 1}"
        ax.set_title(f"β = {first['beta']:.2f}\n({where})".replace("-", "−"))
        ax.set_yscale("log")
        ax.set_ylim(FAINT, 1.5)
        ax.set_xlabel("key position")
    np.atleast_1d(axes)[0].set_ylabel("attention weight")
    return fig


def draw_edits(frame: pd.DataFrame) -> Figure:
    """Passkey accuracy by length for each edit of the trained exponents: mean, t interval and seeds."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    for edit in EDIT_COLORS:
        rows = frame[frame["edit"] == edit]
        if rows.empty:
            continue
        by_length = rows.groupby("length")["accuracy"]
        mean = by_length.mean()
        ends = np.array([seed_interval(values) for _, values in by_length]).clip(0, 1)
        band = {"color": EDIT_COLORS[edit], "dashes": EDIT_DASHES[edit]}
        style.interval_band(ax, mean.index, ends[:, 0], ends[:, 1], **band)
        style.seed_dots(ax, rows["length"], rows["accuracy"], color=EDIT_COLORS[edit])
        ax.plot(mean.index, mean, label=edit, **band)
    style.length_axis(ax, frame["length"])
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("context length (tokens)")
    ax.set_ylabel("share with all five digits right")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, columnspacing=1.0)
    return fig


def heads_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Per seed: how many heads have β < 0, and the attention that they and the others give to the key sentence."""
    rows = []
    for seed, heads in frame.groupby("seed"):
        negative = heads["beta"] < 0
        rows.append({
            "seed": seed, "heads": len(heads), "heads with β < 0": int(negative.sum()), "lowest β": heads["beta"].min(),
            "highest β": heads["beta"].max(),
            "lift on the key, β < 0": heads.loc[negative, "passkey_lift"].mean(),
            "lift on the key, β ≥ 0": heads.loc[~negative, "passkey_lift"].mean(),
        })  # fmt: skip
    return pd.DataFrame(rows).round(3)


def _seeds(frame: pd.DataFrame) -> str:
    return f"{frame['seed'].nunique()} seed{'s' if frame['seed'].nunique() > 1 else ''}"


FIGURES = {
    "learned_heads": FigureSpec(
        "learned_heads",
        draw_heads,
        lambda frame: (
            f"Every head of BAM with SSMax after training on passkeys ({_seeds(frame)}, all heads shown). Left: the "
            "exponent β by layer; all started at 0. Right: the attention that the five answering queries give to the "
            "key sentence of an 845-token prompt whose key stands before 768 tokens of filler (mean over 8 keys), "
            f"against β; masses below {LOCAL:g} are drawn there. The dashed line is what uniform attention would give."
        ),
        "Two scatter plots: learned exponents by layer, and attention mass on the passkey against the exponent.",
        "BAM, Fig. 4",
        NOTEBOOK,
    ),
    "learned_maps": FigureSpec(
        "learned_maps",
        draw_maps,
        lambda frame: (
            f"Attention of three heads of seed {int(frame['seed'].iloc[0])}, picked by β alone, over the keys of the "
            "prompt of BAM's Fig. 4 (mean over the five answering queries and 8 keys): the head with the lowest β and, "
            "of the remaining ones, those nearest to 1/2 and then to 1, however far from it. Shaded: the key sentence; "
            f"weights below {FAINT:g} are drawn there."
        ),
        "Three line plots of attention weight by key position on a logarithmic axis, the key sentence shaded.",
        "BAM, Fig. 4",
        NOTEBOOK,
    ),
    "learned_edits": FigureSpec(
        "learned_edits",
        draw_edits,
        lambda frame: (
            "Passkey accuracy when the exponents of trained BAM-SSMax models are edited at test time "
            f"({_seeds(frame)}; {int(frame['samples'].iloc[0])} prompts each; bands: t interval over seeds; dots: "
            "seeds). An edited head gets the uniform prior, its content weights stay."
        ),
        "Line plot of passkey accuracy by context length for the trained model and three edits of its exponents.",
        "",
        NOTEBOOK,
    ),
}
TABLES = {
    "learned_heads": TableSpec(
        "learned_heads",
        heads_table,
        lambda frame: (
            f"Exponents that BAM-SSMax learned on passkeys, by seed, and the attention on the key sentence relative to "
            f"uniform attention (lift; mean over heads, {_seeds(frame)})."
        ),
        "BAM, Fig. 4",
        NOTEBOOK,
    ),
}
