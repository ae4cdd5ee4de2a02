"""Mass of the prior near the query by context length (BAM, Lemmas 3 and 4, Theorem 4)."""

from attention_priors.figures import panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory import generalised_gaussian as gaussian

SHAPES = (1.0, 0.5, 0.3, 0.2, 0.1, 0.0, -0.5, -1.0)


def _look(beta: float) -> tuple:
    """Colours by sign, dashes by size."""
    color = style.BLUE if beta > 0 else style.ORANGE if beta < 0 else style.GREY
    dashes = style.SOLID if beta in (1, 0, -1) else (5, 1.5) if abs(beta) == 0.5 else (2, 1)
    return color, dashes, "None", rf"$\beta = {beta:g}$"


def rows(size: Size, seed: int, lengths=(10**3, 10**4, 10**5, 10**6, 10**7), windows=(64, 512)) -> Rows:
    """P(lag > D) and P(lag <= D) by shape, context length and window D, scale 1."""
    found = []
    for beta in SHAPES:
        log_prior = gaussian.laplace(0.0) if beta == 0 else gaussian.printed(1.0, beta)
        for keys, tails in zip(lengths, gaussian.tails(log_prior, lengths, windows), strict=True):
            found += [
                {"beta": beta, "keys": keys, "window": window, "tail": float(tail), "within": float(1 - tail)}
                for window, tail in zip(windows, tails, strict=True)
            ]
    return found


def draw(frame: Frame) -> Figure:
    shown, looks = frame[frame["within"] > 0], {beta: _look(beta) for beta in SHAPES}
    made = {
        rf"mass within $D = {window}$ lags": panels.series(own, "keys", "within", "beta", looks)
        for window, own in shown.groupby("window")
    }
    axis = {"base": 10, "yscale": "log", "ylim": (0.5 * shown["within"].min(), 2), "legend": "ends"}
    return panels.draw(made, "context length", r"$P(|i - j| \leq D)$", height=1.75, **axis)[0]


def caption(frame: Frame) -> str:
    tail = frame[frame["keys"] == frame["keys"].max()].set_index(["beta", "window"])["tail"]
    window = int(frame["window"].min())
    listed = ", ".join(f"{tail[beta, window]:.4g} ({beta:g})" for beta in (0.5, 0.3, 0.2, 0.1, 0.0, -0.5))
    return (
        "Mass of the prior within D lags of the query, scale 1, equal content. For β > 0 the mass settles at a "
        "positive value, at once for β = 1 and beyond any context in use for β = 0.1. For β ≤ 0 "
        f"it vanishes like 1/n. Tail mass P(|i-j| > {window}) at {int(frame['keys'].max()):,} keys, by β: {listed}."
    )


FIGURE = FigureSpec(
    "prior_tails",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, Theorem 4",
    rows=rows,
    columns=("beta", "keys", "window", "tail", "within"),
    claims=("BAM-L3", "BAM-L4", "BAM-T4", "BAM-T4b"),
    alt="Mass within a window by context length, log-log, one panel per window: level lines for positive shapes, lines "
    "falling with slope minus one for zero and negative shapes.",
)
