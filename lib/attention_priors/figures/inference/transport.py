"""Attention as transport: the frontier of expected score and entropy, and what a prior does to a plan."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.inference import truncated_geometric
from attention_priors.theory.transport import entropy, plan

TEMPERATURES = {0.5: ("o", (1, 1)), 1.0: ("s", style.SOLID), 2.0: ("^", (4, 1.5))}  # marker, dashes
PRIORS = (("plan", style.BLUE, style.BLUE, "uniform prior"), ("plan with prior", style.ORANGE, "white", "ALiBi prior"))


def rows(size: Size, seed: int, competitors=400) -> Rows:
    """Expected score and entropy of plans over a sweep of temperatures and of random distributions.

    Kind "frontier" (a plan per tau, key and weight empty), "other" (a competitor drawn from Dirichlet laws of several
    concentrations), "plan" and "plan with prior" (one row a key at tau = 1/2, 1 and 2).
    """
    s = np.array([1.0, 3.0, 0.5, 2.0, 0.0, 1.0, 0.5, 1.0])
    prior = truncated_geometric(np.log(2.0), len(s))[::-1]
    draw = np.random.default_rng(seed)
    empty = {"tau": np.nan, "key": np.nan, "weight": np.nan}

    def point(kind: str, p: np.ndarray, **known: float) -> dict:
        return {"kind": kind, **empty, "expected": float(p @ s), "entropy": entropy(p), **known}

    found = [point("frontier", plan(s, tau), tau=float(tau)) for tau in np.geomspace(0.05, 200.0, 60)]
    for concentration in np.geomspace(0.1, 10.0, competitors):
        found.append(point("other", draw.dirichlet(np.full(len(s), concentration))))
    for tau in (0.5, 1.0, 2.0):
        for kind, given in (("plan", None), ("plan with prior", prior)):
            p = plan(s, tau, given)
            found += [point(kind, p, tau=tau, key=j + 1, weight=float(w)) for j, w in enumerate(p)]
    return found


def draw(frame: Frame) -> Figure:
    fig, (left, right) = style.figure(style.MIDDLE, 2.3, ncols=2)
    by_kind = dict(tuple(frame.groupby("kind")))
    other, frontier = by_kind["other"], by_kind["frontier"].sort_values("tau")
    left.plot(other["expected"], other["entropy"], ".", color=style.PALE, markersize=3, label="any other distribution")
    left.plot(frontier["expected"], frontier["entropy"], color=style.BLUE, label=r"softmax$(s/\tau)$, $\tau > 0$")
    for tau, (marker, _) in TEMPERATURES.items():
        row = by_kind["plan"][by_kind["plan"]["tau"] == tau].iloc[0]
        left.plot(row["expected"], row["entropy"], marker, color=style.BLUE, markersize=5)
        left.annotate(rf"$\tau = {tau:g}$", (row["expected"], row["entropy"]), xytext=(5, 3),
                      textcoords="offset points", fontsize=style.SMALLEST)  # fmt: skip
    left.set(xlabel=r"expected score $\langle p, s\rangle$", ylabel="entropy $H(p)$ in nats")
    left.set_ylim(top=1.08 * frontier["entropy"].max())
    left.set_xlim(right=1.12 * frontier["expected"].max())
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 1.26), markerscale=2)
    for kind, color, face, name in PRIORS:
        for tau, part in by_kind[kind].groupby("tau"):
            marker, dashes = TEMPERATURES[tau]
            right.plot(part["key"], part["weight"], color=color, dashes=dashes, marker=marker, markerfacecolor=face,
                       label=rf"{name}, $\tau = {tau:g}$")  # fmt: skip
    right.set(xlabel="key $j$ (the query is the last)", ylabel="weight $p_j$")
    right.set_xticks(sorted(by_kind["plan"]["key"].unique()))
    right.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.36), columnspacing=1.0)
    return fig


def caption(frame: Frame) -> str:
    others = frame[frame["kind"] == "other"]
    hottest = frame[frame["kind"] == "frontier"].sort_values("tau").iloc[-1]
    above = int((others["expected"] > hottest["expected"]).sum())
    return (
        f"One query and {int(frame['key'].max())} keys. Left: no distribution has a larger entropy than softmax(s/τ) "
        f"at the same expected score. Of the {len(others)} random ones shown, {above} lie below the curve; the others "
        f"score less than its end at τ = {hottest['tau']:g}, close to the uniform distribution: the side of τ < 0, "
        "which is not drawn. Right: the transport plans at three temperatures, without and with a log-prior that falls "
        "by ln 2 per lag; the lower the temperature, the more the scores decide."
    )


FIGURE = FigureSpec(
    "inference_transport", draw, caption, notebook="attention_is_inference", rows=rows,
    columns=("kind", "tau", "expected", "entropy", "key", "weight"), claims=("GOAT-P2.2b", "GOAT-P3.1"),
    alt="Left: a concave curve that falls in entropy as the expected score rises, from the uniform distribution on; "
    "grey dots of other distributions lie below it or, at lower scores, to its left. Right: attention weights over "
    "keys at three temperatures, with a uniform (filled markers) and with a decaying prior (hollow ones).",
)  # fmt: skip
