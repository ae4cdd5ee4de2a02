"""Attention as transport: the frontier of expected score and entropy, and what a prior does to a plan."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec

NOTEBOOK = "01_attention_is_inference"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#9A9A9A"
TEMPERATURES = {0.5: ("o", (1, 1)), 1.0: ("s", style.SOLID), 2.0: ("^", (4, 1.5))}  # marker, dashes


def draw_frontier(frame: pd.DataFrame) -> Figure:
    """Columns kind, tau, expected, entropy, key, weight: left the frontier, right the plans key by key."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.3, ncols=2)
    by_kind = dict(tuple(frame.groupby("kind")))
    other, frontier = by_kind["other"], by_kind["frontier"].sort_values("tau")
    left.plot(other["expected"], other["entropy"], ".", color=GREY, markersize=3, label="any other distribution")
    left.plot(frontier["expected"], frontier["entropy"], color=BLUE, label=r"softmax$(s/\tau)$, $\tau > 0$")
    for tau, (marker, _) in TEMPERATURES.items():
        row = by_kind["plan"][by_kind["plan"]["tau"] == tau].iloc[0]
        left.plot(row["expected"], row["entropy"], marker, color=BLUE, markersize=5)
        left.annotate(rf"$\tau = {tau:g}$", (row["expected"], row["entropy"]), xytext=(5, 3),
                      textcoords="offset points", fontsize=style.SMALLEST)  # fmt: skip
    left.set(xlabel=r"expected score $\langle p, s\rangle$", ylabel="entropy $H(p)$ in nats")
    left.set_ylim(top=1.08 * frontier["entropy"].max())
    left.set_xlim(right=1.12 * frontier["expected"].max())
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 1.26), markerscale=2)
    priors = (("plan", BLUE, BLUE, "uniform prior"), ("plan with prior", ORANGE, "white", "ALiBi prior"))
    for kind, color, face, name in priors:
        for tau, rows in by_kind[kind].groupby("tau"):
            marker, dashes = TEMPERATURES[tau]
            right.plot(rows["key"], rows["weight"], color=color, dashes=dashes, marker=marker, markerfacecolor=face,
                       label=rf"{name}, $\tau = {tau:g}$")  # fmt: skip
    right.set(xlabel="key $j$ (the query is the last)", ylabel="weight $p_j$")
    right.set_xticks(sorted(by_kind["plan"]["key"].unique()))
    right.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.36), columnspacing=1.0)
    return fig


def caption_frontier(frame: pd.DataFrame) -> str:
    others = frame[frame["kind"] == "other"]
    hottest = frame[frame["kind"] == "frontier"].sort_values("tau").iloc[-1]
    above = int((others["expected"] > hottest["expected"]).sum())
    keys = int(frame["key"].max())
    return (
        f"One query and {keys} keys. Left: no distribution has a larger entropy than softmax(s/τ) at the same expected "
        f"score. Of the {len(others)} random ones shown, {above} lie below the curve; the others score less than its "
        f"end at τ = {hottest['tau']:g}, close to the uniform distribution: the side of τ < 0, which is not drawn. "
        "Right: the transport plans at three temperatures, without and with a log-prior that falls by ln 2 per lag; "
        "the lower the temperature, the more the scores decide."
    )


FIGURES = {
    "inference_transport": FigureSpec(
        "inference_transport",
        draw_frontier,
        caption_frontier,
        "Left: a concave curve that falls in entropy as the expected score rises, from the uniform distribution on; "
        "grey dots of other distributions lie below it or, at lower scores, to its left. "
        "Right: attention weights over keys at three temperatures, with a uniform (filled markers) and with a "
        "decaying prior (hollow ones).",
        "",
        NOTEBOOK,
    )
}
