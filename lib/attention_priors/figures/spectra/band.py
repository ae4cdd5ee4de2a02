"""The band that content can move a prior within (Goat, Theorem 5.1)."""

import numpy as np

from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.bands import band, printed_band
from attention_priors.theory.inference import posterior


def rows(size: Size, seed: int, omegas=(0.5, 2.0, 4.0), draws=400, keys=8, steps=201) -> Frame:
    """Both bands over π in [0, 1], and random rows: content uniform on [0, ω] or at its two ends, one key each."""
    grid, draw, parts = np.linspace(0, 1, steps), np.random.default_rng(seed), []
    for omega in omegas:
        (low, high), (least, most) = band(grid, omega), printed_band(grid, omega)
        known = {"sharp low": low, "sharp high": high, "printed low": least, "printed high": most}
        parts.append({"kind": "band", "omega": omega, "prior": grid} | known)
        found = []
        for k in range(draws):
            pi = draw.dirichlet(np.full(keys, 10.0 ** draw.uniform(-1.5, 0.5)))
            scores = omega * (draw.random(keys) if k % 2 else draw.integers(0, 2, keys))
            j = int(draw.choice(keys, p=pi))
            found.append({"kind": "draw", "omega": omega, "prior": pi[j], "posterior": posterior(scores, pi)[j]})
        parts.append(found)
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    bands, draws = frame[frame["kind"] == "band"], frame[frame["kind"] == "draw"]
    omegas = sorted(bands["omega"].unique())
    fig, axes = style.figure(style.MIDDLE, 2.5, ncols=len(omegas), sharey=True)
    for ax, omega in zip(axes, omegas, strict=True):
        part, dots = bands[bands["omega"] == omega], draws[draws["omega"] == omega]
        ax.fill_between(part["prior"], part["sharp low"], part["sharp high"], color=style.BLUE, alpha=0.15, linewidth=0)
        for end, shown in (("low", ""), ("high", "_")):
            ax.plot(part["prior"], part[f"sharp {end}"], color=style.BLUE, label=f"{shown}sharp")
            ax.plot(part["prior"], part[f"printed {end}"], color=style.ORANGE, dashes=(3, 1.5), label=f"{shown}printed")
        ax.plot(
            dots["prior"],
            dots["posterior"],
            ".",
            color=style.BLACK,
            markersize=1.6,
            markeredgewidth=0,
            label="random rows",
            rasterized=True,
        )
        ax.set(xlim=(0, 1), ylim=(0, 1.25), xlabel=r"prior $\pi$", title=rf"$\omega = {omega:g}$")
        lines.level(ax, 1)
    axes[0].set_ylabel("posterior $p$")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=3)
    return fig


def caption(frame: Frame) -> str:
    bands = frame[(frame["kind"] == "band")]
    middle = bands[(bands["prior"] - 0.5).abs() < 1e-9].set_index("omega")
    omega = float(middle.index.max())
    at = middle.loc[omega]
    count = int((frame["kind"] == "draw").sum())
    return (
        "Posterior against prior mass of one key when the content scores of its row span at most ω. Shaded: the "
        "sharp band, logit p within ω of logit π. Dashed: the printed band, π exp(-ω) to π exp(ω); it leaves [0, 1]. "
        f"Dots: {count} random rows. At π = 1/2 and ω = {omega:g} the printed band is "
        f"[{at['printed low']:.3f}, {at['printed high']:.2f}], the sharp one [{at['sharp low']:.3f}, "
        f"{at['sharp high']:.3f}]."
    )


FIGURE = FigureSpec(
    "spectra_band",
    draw,
    caption,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.1",
    rows=rows,
    columns=("kind", "omega", "prior", "sharp low", "sharp high", "printed low", "printed high", "posterior"),
    claims=("GOAT-T5.1", "GOAT-T5.1t"),
    alt="Posterior by prior mass for three score ranges: a lens-shaped band with random rows filling it, and the "
    "printed straight-line bounds around it, which leave the unit square.",
)
