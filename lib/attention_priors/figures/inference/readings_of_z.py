"""The three readings of the normaliser Z (BAM, appendix I): overlap, ratio of partition functions, information."""

import numpy as np
from matplotlib.axes import Axes

from attention_priors.figures import lines, panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.inference import (
    cosine,
    log_lift,
    overlap,
    partition_ratio,
    printed_information,
    softmax,
    truncated_geometric,
)

RATIO = r"$Z_\mathrm{cont} Z_\mathrm{pos} / Z_\mathrm{joint}$"


def rows(size: Size, seed: int, keys=16, steps=41) -> Rows:
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


def draw(frame: Frame) -> Figure:
    fig, (physics, geometry, information) = style.figure(style.MIDDLE, 2.3, ncols=3)
    found = dict(list(frame.groupby(["reading", "series"], sort=False)))
    for side, color, above in (("near", style.BLUE, -1), ("far", style.ORANGE, 1)):
        _line(physics, found["physics", f"overlap, {side}"], color, style.SOLID, f"$Z$, {side}", -1)
        _line(physics, found["physics", f"ratio, {side}"], color, (3, 1.5), f"{RATIO}, {side}", above)
        _line(information, found["information", f"lift, {side}"], color, style.SOLID, f"$\\ln(LZ)$, {side}", -above)
        _line(information, found["information", f"printed, {side}"], color, (3, 1.5), f"$-\\ln Z$, {side}", above)
    slope = "slope $m$ of the prior"
    physics.set(yscale="log", title="reciprocals,\nnot equal", xlabel=slope, ylabel="overlap or ratio")
    _margins(physics, 0.25)
    _line(geometry, found["geometry", "overlap"], style.BLACK, style.SOLID, "overlap $Z$", 1)
    _line(geometry, found["geometry", "cosine"], style.GREEN, (5, 1, 1, 1), "cosine", -1)
    geometry.axvline(1, color=style.PALE, linewidth=0.7, linestyle=":")
    geometry.annotate("coincide", (1, 0.02), xytext=(3, 0), textcoords="offset points", fontsize=style.SMALLEST)
    geometry.set(title="no maximum\nwhere they agree", xlabel="$t$, prior $\\propto$ content$^t$", ylim=(0, 1.05))
    geometry.set_ylabel("overlap or cosine")
    lines.level(information, 0, color=style.PALE)
    information.set(title="not 0 for a\nuniform prior", xlabel=slope, ylabel="nats")
    _margins(information, 0.14)
    panels.letter(fig.axes)
    return fig


def _line(ax: Axes, rows: Frame, color: str, dashes: tuple, label: str, side: int) -> None:
    """A line with its name at its right end, above (side 1) or below it (side -1)."""
    x, y = rows["x"].to_numpy(), rows["value"].to_numpy()
    ax.plot(x, y, color=color, dashes=dashes)
    ax.annotate(
        label,
        (x[-1], y[-1]),
        xytext=(0, 3 * side),
        textcoords="offset points",
        color=color,
        fontsize=style.SMALLEST,
        ha="right",
        va="bottom" if side > 0 else "top",
    )


def _margins(ax: Axes, share: float) -> None:
    """Room above and below for the names of the outermost lines."""
    ax.margins(y=share)
    ax.autoscale_view()


def caption(frame: Frame) -> str:
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
        "it falls with agreement; the lift is 0 and grows with agreement."
    )


FIGURE = FigureSpec(
    "inference_readings_of_z",
    draw,
    caption,
    notebook="attention_is_inference",
    paper="BAM, appendix I",
    rows=rows,
    columns=("reading", "series", "x", "value"),
    claims=("BAM-I1", "BAM-I2", "BAM-I3", "BAM-E1"),
    alt="Three panels. Overlap and ratio, mirrored about one on a log scale. Overlap rising past the point where the "
    "two distributions coincide, while the cosine peaks there. Printed information starting at ln L and lift starting "
    "at 0.",
)
