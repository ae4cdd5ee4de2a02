"""The matrices of the score of generalised Gaussian attention (BAM, Fig. 5)."""

import matplotlib as mpl
import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.inference import score_matrices, softmax

MATRICES = {
    "content": "content $QK^T$",
    "mask": "mask $M$",
    "bias": "bias $B$",
    "score": "score",
    "weights": "weights $p_{ij}$",
}
SIGNS = {"mask": "+", "bias": "+", "score": "=", "weights": "→"}


def rows(size: Size, seed: int, length=10, alpha=2.0, beta=0.7) -> Rows:
    """Content + mask + bias = score, weights = softmax of its rows, entry by entry, counted from 1.

    Content is standard normal, of a size with the bias.
    """
    draw = np.random.default_rng(seed)
    content, mask, bias = score_matrices(draw.standard_normal((length, length)), alpha, beta)
    score = content + mask + bias
    named = {"content": content, "mask": mask, "bias": bias, "score": score}
    named["weights"] = np.stack([softmax(row) for row in score])
    return [
        {"matrix": name, "query": i + 1, "key": j + 1, "value": float(matrix[i, j])}
        for name, matrix in named.items()
        for i, j in np.ndindex(length, length)
    ]


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 2.1, ncols=len(MATRICES), sharey=True)
    values = {
        name: rows.pivot(index="query", columns="key", values="value").to_numpy()
        for name, rows in frame.groupby("matrix")
    }
    logits = np.concatenate([values[name][np.isfinite(values[name])] for name in ("content", "bias", "score")])
    scale = mpl.colors.Normalize(logits.min(), logits.max())
    for ax, (name, title) in zip(axes, MATRICES.items(), strict=True):
        hidden = ~np.isfinite(values["score" if name == "weights" else name])
        norm = mpl.colors.Normalize(0, 1) if name == "weights" else scale
        image = ax.imshow(np.where(hidden, np.nan, values[name]), norm=norm)
        for query, key in np.argwhere(hidden):
            ax.add_patch(
                mpl.patches.Rectangle((key - 0.5, query - 0.5), 1, 1, fc="white", ec="#BBBBBB", hatch="////", lw=0)
            )
        ends = [1, len(hidden)]
        ax.set(title=title, xticks=[0, ends[1] - 1], xticklabels=ends, yticks=[0, ends[1] - 1], yticklabels=ends)
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


def caption(frame: Frame) -> str:
    weights = frame[frame["matrix"] == "weights"]
    size = int(weights["query"].max())
    last = weights[weights["query"] == size].set_index("key")["value"]
    return (
        f"The score of generalised Gaussian attention as a sum of three {size} x {size} matrices: random content "
        "logits, the causal mask (0 for visible keys; minus infinity, hatched, for the rest) and the positional bias, "
        "constant along diagonals. A softmax of each row gives the weights. Mask and bias together are the logarithm "
        f"of a prior. The last query gives {last.loc[size]:.2f} of its weight to itself, {last.loc[1]:.2f} to key 1."
    )


FIGURE = FigureSpec(
    "inference_score_matrices",
    draw,
    caption,
    notebook="attention_is_inference",
    paper="BAM, Fig. 5",
    rows=rows,
    columns=("matrix", "query", "key", "value"),
    claims=("BAM-F5",),
    alt="Five square matrices in a row: content plus causal mask plus bias equals score, whose rows become weights; "
    "the upper right triangle of mask, score and weights is hatched as invisible.",
)
