"""Entries above a threshold by the width of the row (ParallelComp, Theorem 3.1)."""

import numpy as np

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.runtime import seed_for
from attention_priors.theory import parallel

RATES = (0.0, 0.05, 0.2, 1.0)
LOOKS = ((style.DARK, "X"), (style.BLUE, "s"), (style.GREEN, "^"), (style.ORANGE, "o"))


def rows(size: Size, seed: int, epsilon=0.001, delta=0.05) -> Rows:
    """#{j : A_j > eps} in rows with logits -R d + N(0, 1): mean, least and most over rows, and the bounds.

    `share` is the part of the row above 1 / w, a threshold that moves with the width. R = 0 has no decay and no bound
    but 1 / eps.
    """
    found = []
    for rate in RATES:
        for keys in (size.length * 2**p // 8 for p in range(7)):
            rng = np.random.default_rng(seed_for(seed, f"13/counts/{rate}/{keys}"))
            weights = parallel.noisy_rows(rate, keys, size.draws // 2000, rng)
            above = (weights > epsilon).sum(axis=1)
            t = parallel.noise_level(keys, delta)
            bound = parallel.count_bound(rate, epsilon, t) if rate else 1 / epsilon
            found.append(
                {
                    "rate": rate,
                    "keys": keys,
                    "epsilon": epsilon,
                    "mean": float(above.mean()),
                    "least": int(above.min()),
                    "most": int(above.max()),
                    "bound": bound,
                    "share": float((weights > 1 / keys).mean()),
                }
            )
    return found


def draw(frame: Frame) -> Figure:
    fig, (counts, shares) = style.figure(style.MIDDLE, 2.5, ncols=2)
    widths = np.array(sorted(frame["keys"].unique()))
    epsilon = frame["epsilon"].iloc[0]
    counts.plot(widths, widths, color=style.GREY, dashes=(1, 1))
    counts.annotate(
        "as printed, $w - o(w)$",
        (widths[-1], widths[-1]),
        xytext=(-8, 3),
        textcoords="offset points",
        fontsize=style.SMALLEST,
        ha="right",
        va="bottom",
    )
    counts.axhline(1 / epsilon, color=style.BLACK, linewidth=0.9)
    counts.annotate(
        r"$1/\epsilon$",
        (widths[-1], 1 / epsilon),
        xytext=(-2, 2),
        textcoords="offset points",
        fontsize=style.SMALLEST,
        ha="right",
        va="bottom",
    )
    for rate, (color, marker) in zip(RATES, LOOKS, strict=True):
        part = frame[frame["rate"] == rate].sort_values("keys")
        counts.fill_between(part["keys"], part["least"], part["most"], color=color, alpha=0.18, linewidth=0)
        counts.plot(part["keys"], part["mean"], color=color, marker=marker)
        if rate:
            counts.plot(part["keys"], part["bound"], color=color, dashes=(4, 1.5), linewidth=0.8)
        shares.plot(part["keys"], part["share"], color=color, marker=marker, label=f"$R = {rate:g}$")
    counts.set(yscale="log", xlabel="width $w$", ylabel=rf"entries above $\epsilon = {epsilon:g}$")
    counts.set_ylim(0.5, 4 * widths[-1])
    shares.set(yscale="log", xlabel="width $w$", ylabel="share of entries above $1/w$")
    for ax in (counts, shares):
        style.length_axis(ax, [int(w) for w in widths], most=6)
    style.direct_labels(shares)
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    epsilon, final = frame["epsilon"].iloc[0], frame[frame["keys"] == frame["keys"].max()].set_index("rate")
    decaying = final[final.index > 0].iterrows()
    flat = frame[frame["rate"] == 0]["share"]
    most = "; ".join(f"up to {row['most']:.0f}, bound {row['bound']:.0f} (R = {rate:g})" for rate, row in decaying)
    return (
        f"Rows of logits -R d + N(0, 1). Panel a: entries above {epsilon:g}, mean (markers) and range (band) over "
        f"simulated rows, and the corrected bound (dashed). The count stays below 1/ε = {1 / epsilon:.0f} for every "
        f"width, where the printed theorem has nearly all w entries (dotted); at w = {frame['keys'].max()}: {most}. "
        "Without decay (R = 0) the count first grows and then falls, as that of uniform attention does. Panel b: "
        f"measured against 1/w, the row without decay keeps {flat.min():.3f} to {flat.max():.3f} of its entries above; "
        "with decay the share falls."
    )


FIGURE = FigureSpec(
    "parallel_counts",
    draw,
    caption,
    notebook="parallel_attention",
    paper="ParallelComp, Theorem 3.1",
    rows=rows,
    columns=("rate", "keys", "epsilon", "mean", "least", "most", "bound", "share"),
    claims=("PC-TA.3", "PC-TA.3x", "PC-TA.2x"),
    alt="Panel a: counts above a constant threshold, flat or falling with the width, below dashed bounds and a line at "
    "one over the threshold. Panel b: the share above 1/w is nearly constant without decay and falls with it.",
)
