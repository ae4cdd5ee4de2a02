"""Attention as transport: no distribution has more entropy at the same expected score."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.transport import entropy, plan

SCORES = np.array([1.0, 3.0, 0.5, 2.0, 0.0, 1.0, 0.5, 1.0])
MARKED = {0.5: "o", 1.0: "s", 2.0: "^"}  # temperatures


def rows(size: Size, seed: int, competitors=400) -> Rows:
    """Expected score and entropy of softmax(s / tau), and of random distributions: Dirichlet laws of several widths."""
    draw = np.random.default_rng(seed)

    def point(kind: str, p: np.ndarray, tau: float = np.nan) -> dict[str, float | str]:
        return {"kind": kind, "tau": tau, "expected": float(p @ SCORES), "entropy": entropy(p)}

    taus = np.unique([*np.geomspace(0.05, 200.0, 60), *MARKED])
    frontier = [point("frontier", plan(SCORES, tau), float(tau)) for tau in taus]
    laws = np.geomspace(0.1, 10.0, competitors)
    return frontier + [point("other", draw.dirichlet(np.full(len(SCORES), concentration))) for concentration in laws]


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.3)
    other, frontier = frame[frame["kind"] == "other"], frame[frame["kind"] == "frontier"].sort_values("tau")
    ax.plot(other["expected"], other["entropy"], ".", color=style.PALE, markersize=3, label="any other distribution")
    ax.plot(frontier["expected"], frontier["entropy"], color=style.BLUE, label=r"softmax$(s/\tau)$, $\tau > 0$")
    for tau, marker in MARKED.items():
        at = frontier.iloc[(frontier["tau"] - tau).abs().argmin()][["expected", "entropy"]].to_numpy()
        ax.plot(*at, marker, color=style.BLUE, markersize=5)
        ax.annotate(rf"$\tau = {tau:g}$", at, xytext=(5, 3), textcoords="offset points", fontsize=style.SMALLEST)
    ax.set(
        xlabel=r"expected score $\langle p, s\rangle$",
        ylabel="entropy $H(p)$ in nats",
        xlim=(None, 1.12 * frontier["expected"].max()),
        ylim=(None, 1.08 * frontier["entropy"].max()),
    )
    fig.legend(loc="outside upper center", markerscale=2, ncols=2)
    return fig


def caption(frame: Frame) -> str:
    others = frame[frame["kind"] == "other"]
    hottest = frame[frame["kind"] == "frontier"].sort_values("tau").iloc[-1]
    above = int((others["expected"] > hottest["expected"]).sum())
    return (
        f"One query and {len(SCORES)} keys. No distribution has a larger entropy than softmax(s/τ) at "
        f"the same expected score. Of the {len(others)} random ones shown, {above} lie below the curve; the others "
        f"score less than its end at τ = {hottest['tau']:g}, close to the uniform distribution: the side of τ < 0, "
        "which is not drawn."
    )


FIGURE = FigureSpec(
    "inference_transport",
    draw,
    caption,
    notebook="attention_is_inference",
    rows=rows,
    columns=("kind", "tau", "expected", "entropy"),
    claims=("GOAT-P2.2b", "GOAT-P3.1"),
    alt="A concave curve that falls in entropy as the expected score rises, from the uniform distribution on; grey "
    "dots of other distributions lie below it or, at lower scores, to its left.",
)
