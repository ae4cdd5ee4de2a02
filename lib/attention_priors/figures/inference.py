"""Attention as inference: the matrices of the score, attention as transport, and the readings of Z."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ..theory.inference import (
    cosine,
    log_lift,
    overlap,
    partition_ratio,
    printed_information,
    score_matrices,
    softmax,
    truncated_geometric,
)
from ..theory.transport import entropy, plan
from . import heat_maps, lines, panels, style
from .spec import Figure, FigureSpec, Frame, Rows, Size

# The matrices of the score of generalised Gaussian attention
MATRICES = {
    "content": "content $QK^T$",
    "mask": "mask $M$",
    "bias": "bias $B$",
    "score": "score",
    "weights": "weights $p_{ij}$",
}
SIGNS = {"mask": "+", "bias": "+", "score": "=", "weights": "→"}


def rows_matrices(size: Size, seed: int, length=10, alpha=2.0, beta=0.7) -> Rows:
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


def draw_matrices(frame: Frame) -> Figure:
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
        heat_maps.bare(ax)
        if name in SIGNS:
            ax.text(-0.12, 0.5, SIGNS[name], transform=ax.transAxes, ha="center", va="center", fontsize=11)
        if name in ("score", "weights"):
            shared = list(axes[:-1]) if name == "score" else [ax]
            place = {"location": "bottom", "shrink": 0.9, "aspect": 12 * len(shared), "pad": 0.06}
            bar = heat_maps.color_bar(image, shared, **place)
            bar.set_label("weight" if name == "weights" else "logit (nats)", labelpad=1)
    axes[0].set_ylabel("query $i$", labelpad=-4)
    return fig


def caption_matrices(frame: Frame) -> str:
    weights = frame[frame["matrix"] == "weights"]
    size = int(weights["query"].max())
    last = weights[weights["query"] == size].set_index("key")["value"]
    return (
        f"The score of generalised Gaussian attention as a sum of three {size} x {size} matrices: random content "
        "logits, the causal mask (0 for visible keys; minus infinity, hatched, for the rest) and the positional bias, "
        "constant along diagonals. A softmax of each row gives the weights. Mask and bias together are the logarithm "
        f"of a prior. The last query gives {last.loc[size]:.2f} of its weight to itself, {last.loc[1]:.2f} to key 1."
    )


SCORE = FigureSpec(
    "inference_score_matrices",
    draw_matrices,
    caption_matrices,
    notebook="attention_is_inference",
    paper="BAM, Fig. 5",
    rows=rows_matrices,
    claims=("BAM-F5",),
    alt="Five square matrices in a row: content plus causal mask plus bias equals score, whose rows become weights; "
    "the upper right triangle of mask, score and weights is hatched as invisible.",
)


# Attention as transport
SCORES = np.array([1.0, 3.0, 0.5, 2.0, 0.0, 1.0, 0.5, 1.0])
MARKED = {0.5: "o", 1.0: "s", 2.0: "^"}  # temperatures


def rows_transport(size: Size, seed: int, competitors=400) -> Rows:
    """Expected score and entropy of softmax(s / tau), and of random distributions: Dirichlet laws of several widths."""
    draw = np.random.default_rng(seed)

    def point(kind: str, p: np.ndarray, tau: float = np.nan) -> dict[str, float | str]:
        return {"kind": kind, "tau": tau, "expected": float(p @ SCORES), "entropy": entropy(p)}

    taus = np.unique([*np.geomspace(0.05, 200.0, 60), *MARKED])
    frontier = [point("frontier", plan(SCORES, tau), float(tau)) for tau in taus]
    laws = np.geomspace(0.1, 10.0, competitors)
    return frontier + [point("other", draw.dirichlet(np.full(len(SCORES), concentration))) for concentration in laws]


def draw_transport(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.3)
    other, frontier = frame[frame["kind"] == "other"], frame[frame["kind"] == "frontier"].sort_values("tau")
    ax.plot(other["expected"], other["entropy"], ".", color=style.PALE, markersize=3, label="any other distribution")
    ax.plot(frontier["expected"], frontier["entropy"], color=style.BLUE, label=r"softmax$(s/\tau)$, $\tau > 0$")
    for tau, marker in MARKED.items():
        at = frontier.iloc[(frontier["tau"] - tau).abs().argmin()][["expected", "entropy"]].to_numpy()
        ax.plot(*at, marker, color=style.BLUE, markersize=5)
        style.note(ax, rf"$\tau = {tau:g}$", at, (5, 3))
    ax.set(
        xlabel=r"expected score $\langle p, s\rangle$",
        ylabel="entropy $H(p)$ in nats",
        xlim=(None, 1.12 * frontier["expected"].max()),
        ylim=(None, 1.08 * frontier["entropy"].max()),
    )
    fig.legend(loc="outside upper center", markerscale=2, ncols=2)
    return fig


def caption_transport(frame: Frame) -> str:
    others = frame[frame["kind"] == "other"]
    hottest = frame[frame["kind"] == "frontier"].sort_values("tau").iloc[-1]
    above = int((others["expected"] > hottest["expected"]).sum())
    return (
        f"One query and {len(SCORES)} keys. No distribution has a larger entropy than softmax(s/τ) at "
        f"the same expected score. Of the {len(others)} random ones shown, {above} lie below the curve; the others "
        f"score less than its end at τ = {hottest['tau']:g}, close to the uniform distribution: the side of τ < 0, "
        "which is not drawn."
    )


TRANSPORT = FigureSpec(
    "inference_transport",
    draw_transport,
    caption_transport,
    notebook="attention_is_inference",
    rows=rows_transport,
    claims=("GOAT-P2.2b", "GOAT-P3.1"),
    alt="A concave curve that falls in entropy as the expected score rises, from the uniform distribution on; grey "
    "dots of other distributions lie below it or, at lower scores, to its left.",
)


# The three readings of the normaliser Z
RATIO = r"$Z_\mathrm{cont} Z_\mathrm{pos} / Z_\mathrm{joint}$"


def rows_readings(size: Size, seed: int, keys=16, steps=41) -> Rows:
    """Two sweeps of the prior.

    physics and information: the prior is Laplace with slope x = 0..2 (0 is uniform) over `keys` lags, and content
    favours the query itself (near) or the farthest key (far), by a margin of ln 20. geometry: the prior is content^x,
    normalised, so that content and prior coincide at x = 1; the content is a slope of ln 2 per lag.
    """
    found, lags = [], np.arange(keys)
    for series, favoured in (("near", 0), ("far", keys - 1)):
        content = np.where(lags == favoured, np.log(20.0), 0.0)
        p = softmax(content)
        for m in np.linspace(0.0, 2.0, steps):
            q = truncated_geometric(m, keys)
            found += [
                ("physics", f"overlap, {series}", m, overlap(p, q)),
                ("physics", f"ratio, {series}", m, partition_ratio(content, np.log(q))),
                ("information", f"printed, {series}", m, printed_information(p, q)),
                ("information", f"lift, {series}", m, log_lift(p, q)),
            ]
    p = truncated_geometric(np.log(2.0), keys)
    for t in np.linspace(0.0, 4.0, steps):
        q = softmax(t * np.log(p))
        found += [("geometry", "overlap", t, overlap(p, q)), ("geometry", "cosine", t, cosine(p, q))]
    return [{"reading": r, "series": s, "x": float(x), "value": value} for r, s, x, value in found]


def draw_readings(frame: Frame) -> Figure:
    fig, (physics, geometry, information) = style.figure(style.MIDDLE, 2.3, ncols=3)
    found = dict(list(frame.groupby(["reading", "series"], sort=False)))
    for side, color, above in (("near", style.BLUE, -1), ("far", style.ORANGE, 1)):
        _line(physics, found["physics", f"overlap, {side}"], color, style.SOLID, f"$Z$, {side}", -1)
        _line(physics, found["physics", f"ratio, {side}"], color, (3, 1.5), f"{RATIO}, {side}", above)
        _line(information, found["information", f"lift, {side}"], color, style.SOLID, f"$\\ln(LZ)$, {side}", -above)
        _line(information, found["information", f"printed, {side}"], color, (3, 1.5), f"$-\\ln Z$, {side}", above)
    slope = "slope $m$ of the prior"
    physics.set(yscale="log", title="reciprocals,\nnot equal", xlabel=slope, ylabel="overlap or ratio")
    physics.margins(y=0.25)  # room for the names of the outermost lines
    _line(geometry, found["geometry", "overlap"], style.BLACK, style.SOLID, "overlap $Z$", 1)
    _line(geometry, found["geometry", "cosine"], style.GREEN, (5, 1, 1, 1), "cosine", -1)
    lines.place(geometry, 1)
    style.note(geometry, "coincide", (1, 0.02))
    geometry.set(title="no maximum\nwhere they agree", xlabel="$t$, prior $\\propto$ content$^t$", ylim=(0, 1.05))
    geometry.set_ylabel("overlap or cosine")
    lines.level(information, 0)
    information.set(title="printed: falls\nas the two agree", xlabel=slope, ylabel="nats")
    information.margins(y=0.14)
    panels.letter(fig.axes)
    return fig


def _line(ax: Axes, rows: Frame, color: str, dashes: tuple, label: str, side: int) -> None:
    """A line with its name at its right end, above (side 1) or below it (side -1)."""
    x, y = rows["x"].to_numpy(), rows["value"].to_numpy()
    ax.plot(x, y, color=color, dashes=dashes)
    look = {"color": color, "ha": "right", "va": "bottom" if side > 0 else "top"}
    style.note(ax, label, (x[-1], y[-1]), (0, 3 * side), **look)


def caption_readings(frame: Frame) -> str:
    series = {name: rows.set_index("x")["value"] for name, rows in frame.groupby(["reading", "series"])}
    start = series["information", "printed, near"].iloc[0]
    shared = series["geometry", "overlap"]
    at_one = shared.iloc[int(np.argmin(np.abs(shared.index.to_numpy() - 1.0)))]
    return (
        f"Three readings of the normaliser Z over a row of {round(float(np.exp(start)))} keys. Panel a: the overlap of "
        "content and prior (solid) and the ratio of partition functions (dashed) mirror each other about 1, for "
        "content that favours the query itself (near) or the farthest key (far). Panel b: where prior and content "
        f"coincide the overlap is {at_one:.2f} and still grows, to {shared.iloc[-1]:.2f}; the cosine peaks there. "
        f"Panel c: under a uniform prior (slope 0) the quantity printed as mutual information is {start:.2f} nats, and "
        "it falls as the prior moves to the favoured keys; the lift is 0 and grows."
    )


READINGS = FigureSpec(
    "inference_readings_of_z",
    draw_readings,
    caption_readings,
    notebook="attention_is_inference",
    paper="BAM, appendix I",
    rows=rows_readings,
    claims=("BAM-I1", "BAM-I2", "BAM-I3", "BAM-E1"),
    alt="Three panels. Overlap and ratio, mirrored about one on a log scale. Overlap rising past the point where the "
    "two distributions coincide, while the cosine peaks there. Printed information starting at ln L and lift starting "
    "at 0.",
)
