"""Attention as inference: the matrices of the score (BAM, Fig. 5) and the three readings of Z."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec

NOTEBOOK = "01_attention_is_inference"
MATRICES = {
    "content": "content $QK^T$",
    "mask": "mask $M$",
    "bias": "bias $B$",
    "score": "score",
    "weights": "weights $p_{ij}$",
}
SIGNS = {"mask": "+", "bias": "+", "score": "=", "weights": "→"}
NEAR, FAR = "#0072B2", "#D55E00"  # content that favours the query itself, or the farthest key
RATIO = r"$Z_\mathrm{cont} Z_\mathrm{pos} / Z_\mathrm{joint}$"


def draw_matrices(frame: pd.DataFrame) -> Figure:
    """Columns matrix, query, key, value: one square per matrix, -inf hatched; logits share one scale."""
    fig, axes = style.figure(style.DOUBLE, 2.1, ncols=len(MATRICES), sharey=True)
    values = {
        name: rows.pivot(index="query", columns="key", values="value").to_numpy()
        for name, rows in frame.groupby("matrix")
    }
    logits = np.concatenate([values[name][np.isfinite(values[name])] for name in ("content", "bias", "score")])
    scale = mpl.colors.Normalize(logits.min(), logits.max())
    for ax, (name, title) in zip(axes, MATRICES.items(), strict=True):
        matrix, hidden = values[name], ~np.isfinite(values[name])
        if name == "weights":
            hidden = ~np.isfinite(values["score"])
        norm = mpl.colors.Normalize(0, 1) if name == "weights" else scale
        image = ax.imshow(np.where(hidden, np.nan, matrix), norm=norm)
        for query, key in np.argwhere(hidden):
            ax.add_patch(
                mpl.patches.Rectangle((key - 0.5, query - 0.5), 1, 1, fc="white", ec="#BBBBBB", hatch="////", lw=0)
            )
        size = len(matrix)
        ax.set_title(title)
        ax.set_xticks([0, size - 1], [1, size])
        ax.set_yticks([0, size - 1], [1, size])
        ax.set_xlabel("key $j$", labelpad=-6)
        ax.grid(False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        if name in SIGNS:
            ax.text(-0.12, 0.5, SIGNS[name], transform=ax.transAxes, ha="center", va="center", fontsize=11)
        if name in ("score", "weights"):
            shared = list(axes[:-1]) if name == "score" else [ax]
            bar = fig.colorbar(image, ax=shared, location="bottom", shrink=0.9, aspect=12 * len(shared), pad=0.06)
            bar.outline.set_visible(False)
            bar.set_label("weight" if name == "weights" else "logit (nats)", labelpad=1)
    axes[0].set_ylabel("query $i$", labelpad=-4)
    return fig


def caption_matrices(frame: pd.DataFrame) -> str:
    weights = frame[frame["matrix"] == "weights"]
    size = int(weights["query"].max())
    last = weights[weights["query"] == size].set_index("key")["value"]
    return (
        f"The score of generalised Gaussian attention as a sum of three {size} x {size} matrices: random content "
        "logits, the causal mask (0 for visible keys; minus infinity, hatched, for the rest) and the positional bias, "
        "constant along diagonals. A softmax of each row gives the weights. Mask and bias together are the logarithm "
        f"of a prior. The last query gives {last.loc[size]:.2f} of its weight to itself, {last.loc[1]:.2f} to key 1."
    )


def draw_readings(frame: pd.DataFrame) -> Figure:
    """Columns reading, series, x, value: one panel per reading of Z."""
    fig, (physics, geometry, information) = style.figure(style.DOUBLE, 2.3, ncols=3)
    lines = {reading: dict(list(rows.groupby("series", sort=False))) for reading, rows in frame.groupby("reading")}
    for side, color, above in (("near", NEAR, -1), ("far", FAR, 1)):
        _line(physics, lines["physics"][f"overlap, {side}"], color, style.SOLID, f"$Z$, {side}", -1)
        _line(physics, lines["physics"][f"ratio, {side}"], color, (3, 1.5), f"{RATIO}, {side}", above)
        _line(information, lines["information"][f"lift, {side}"], color, style.SOLID, f"$\\ln(LZ)$, {side}", -above)
        _line(information, lines["information"][f"printed, {side}"], color, (3, 1.5), f"$-\\ln Z$, {side}", above)
    physics.set(
        yscale="log", title="reciprocals, not equal", xlabel="slope $m$ of the prior", ylabel="overlap or ratio"
    )
    _margins(physics, 0.25)
    _line(geometry, lines["geometry"]["overlap"], "#000000", style.SOLID, "overlap $Z$", 1)
    _line(geometry, lines["geometry"]["cosine"], "#009E73", (5, 1, 1, 1), "cosine", -1)
    geometry.axvline(1, color="#999999", linewidth=0.7, linestyle=":")
    geometry.annotate("coincide", (1, 0.02), xytext=(3, 0), textcoords="offset points", fontsize=style.SMALLEST)
    geometry.set(title="no maximum where they agree", xlabel="$t$, prior $\\propto$ content$^t$", ylim=(0, 1.05))
    geometry.set_ylabel("overlap or cosine")
    information.axhline(0, color="#999999", linewidth=0.7, linestyle=":")
    information.set(title="not 0 for a uniform prior", xlabel="slope $m$ of the prior", ylabel="nats")
    _margins(information, 0.14)
    return fig


def _line(ax: Axes, rows: pd.DataFrame, color: str, dashes: tuple, label: str, side: int) -> None:
    """A line with its name at its right end, above (side 1) or below it (side -1)."""
    x, y = rows["x"].to_numpy(), rows["value"].to_numpy()
    ax.plot(x, y, color=color, dashes=dashes)
    ax.annotate(
        label, (x[-1], y[-1]), xytext=(0, 3 * side), textcoords="offset points", color=color,
        fontsize=style.SMALLEST, ha="right", va="bottom" if side > 0 else "top",
    )  # fmt: skip


def _margins(ax: Axes, share: float) -> None:
    """Room above and below for the names of the outermost lines."""
    ax.margins(y=share)
    ax.autoscale_view()


def caption_readings(frame: pd.DataFrame) -> str:
    series = {name: rows.set_index("x")["value"] for name, rows in frame.groupby(["reading", "series"])}
    start = series["information", "printed, near"].iloc[0]
    overlap = series["geometry", "overlap"]
    at_one = overlap.iloc[int(np.argmin(np.abs(overlap.index.to_numpy() - 1.0)))]
    return (
        f"Three readings of the normaliser Z over a row of {round(float(np.exp(start)))} keys. Left: the overlap of "
        "content and prior (solid) and the ratio of partition functions (dashed) mirror each other about 1, for "
        "content that favours the query itself (near) or the farthest key (far). Middle: where prior and content "
        f"coincide the overlap is {at_one:.2f} and still grows, to {overlap.iloc[-1]:.2f}; the cosine peaks there. "
        f"Right: under a uniform prior (slope 0) the quantity printed as mutual information is {start:.2f} nats, and "
        "it falls with agreement; the lift is 0 and grows with agreement."
    )


FIGURES = {
    "inference_score_matrices": FigureSpec(
        metrics="inference_score_matrices",
        draw=draw_matrices,
        caption=caption_matrices,
        alt="Five square matrices in a row: content plus causal mask plus bias equals score, whose rows become "
        "weights; the upper right triangle of mask, score and weights is hatched as invisible.",
        paper="BAM, Fig. 5",
        notebook=NOTEBOOK,
    ),
    "inference_readings_of_z": FigureSpec(
        metrics="inference_readings_of_z",
        draw=draw_readings,
        caption=caption_readings,
        alt="Three panels. Overlap and ratio, mirrored about one on a log scale. Overlap rising past the point where "
        "the two distributions coincide, while the cosine peaks there. Printed information starting at ln L and lift "
        "starting at 0.",
        paper="BAM, appendix I",
        notebook=NOTEBOOK,
    ),
}
