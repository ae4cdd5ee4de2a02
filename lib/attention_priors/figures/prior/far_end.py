"""Mass of the two ends of the context under a negative shape, by scale (BAM, section 2.5)."""

from attention_priors.figures import lines, panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory import generalised_gaussian as gaussian

FARTHEST = tuple((color, style.SOLID, marker) for color, _, marker in lines.SERIES[:3])
NEAREST = tuple(
    (color, dashes, "None") for (color, *_), dashes in zip(lines.SERIES[:3], ((6, 1.5), (2.5, 1), (1, 1)), strict=True)
)
RATIOS = tuple(float(10 ** (k / 4)) for k in range(-12, 10))


def rows(size: Size, seed: int, ratios=RATIOS) -> Rows:
    """Mass of the nearest and farthest tenth of the context by alpha / keys, beta < 0."""
    found = []
    for beta in (-0.5, -1.0, -2.0):
        for ratio in ratios:
            near, far = gaussian.shares(gaussian.printed(ratio * size.length, beta), size.length)
            found.append({"beta": beta, "ratio": ratio, "nearest": near, "farthest": far})
    return found


def draw(frame: Frame) -> Figure:
    made = [
        *panels.series(frame, "ratio", "farthest", "beta", FARTHEST, r"farthest, $\beta = {:g}$".format),
        *panels.series(frame, "ratio", "nearest", "beta", NEAREST, r"nearest, $\beta = {:g}$".format),
    ]
    axis = {"base": 10, "levels": [0.1], "ylim": (0, 1.03), "legend": "upper left"}
    labels = (r"scale / context, $\alpha / n$", "mass of a tenth of the keys")
    return panels.draw({"": made}, *labels, height=1.65, **axis)[0]


def caption(frame: Frame) -> str:
    half = frame[frame["farthest"] >= 0.5].groupby("beta")["ratio"].min()
    listed = ", ".join(f"{ratio:.3g} ({beta:g})" for beta, ratio in half.items())
    return (
        "Mass of the farthest (solid) and nearest (dashed) tenth of the context for β < 0. The dotted line is the "
        "uniform share. A context much longer than α is nearly uniform; the first scale α/n drawn at which the "
        f"farthest tenth holds half of the mass is, by β: {listed or 'none'}."
    )


FIGURE = FigureSpec(
    "prior_far_end",
    draw,
    caption,
    notebook="generalised_gaussian",
    paper="BAM, section 2.5",
    rows=rows,
    columns=("beta", "ratio", "nearest", "farthest"),
    claims=("BAM-E3", "BAM-F1"),
    alt="Mass of the farthest tenth of the context rising from one tenth to one as the scale grows from a thousandth "
    "of the context to a hundred times it; mass of the nearest tenth falling to zero.",
)
