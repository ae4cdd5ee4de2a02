"""Mean score of equal queries and keys by lag, under extensions of RoPE and other rotations."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.rotation import FACTOR, WIDTH, extended, line
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.positions.rotary import rope
from attention_priors.positions.xpos import xpos
from attention_priors.theory.rotations import mean_score


def rows(size: Size, seed: int, factor=FACTOR) -> Frame:
    """The mean score near the query (lags 0 .. 24), and averaged within 10 % of lags to `factor` trained lengths."""
    trained = size.length
    spectra = extended(factor, trained) | {"xPos": xpos(WIDTH)}
    del spectra["base expansion"], spectra["Llama 3"]  # near NTK and YaRN
    far, parts = np.geomspace(8, factor * trained, 60), []
    for panel, lags, spread in (("near", np.arange(25.0), np.zeros(1)), ("far", far, np.linspace(-0.1, 0.1, 41))):
        around = lags[:, None] * (1 + spread)
        curves = {name: mean_score(spectrum, around.ravel()) for name, spectrum in spectra.items()}
        curves["ReRoPE"] = mean_score(rope(WIDTH), np.minimum(around.ravel(), trained // 2))
        for name, values in curves.items():
            own = {"panel": panel, "extension": name, "factor": factor, "trained": trained, "lag": lags}
            parts.append(own | {"score": values.reshape(around.shape).mean(1)})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    fig, (near, far) = style.figure(style.MIDDLE, 2.5, ncols=2, sharey=True)
    trained = int(frame["trained"].iloc[0])
    for ax, panel in ((near, "near"), (far, "far")):
        for place, (name, part) in enumerate(frame[frame["panel"] == panel].groupby("extension", sort=False)):
            every = (place % 4, 4) if panel == "near" else (place, 9)
            ax.plot(part["lag"], part["score"], **line(name, markevery=every, markersize=3))
        ax.axhline(0, color=style.PALE, linewidth=0.6)
    near.set(xlabel="lag", ylabel="mean score of equal $q$ and $k$", title="near", ylim=(-0.15, 1.05))
    far.set(xscale="log", xlabel="lag", title="far (averaged)")
    far.axvline(trained, color=style.PALE, linewidth=0.7, linestyle=":")
    far.text(trained, 0.97, " trained", fontsize=style.SMALLEST, color=style.DARK, va="top",
             transform=far.get_xaxis_transform())  # fmt: skip
    near.legend(loc="lower left", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    factor = frame["factor"].iloc[0]
    drop = frame[(frame["panel"] == "near") & (frame["lag"] == 1)].set_index("extension")["score"]
    last = frame[frame["panel"] == "far"].groupby("extension", sort=False).last()["score"]
    return (
        f"Score of a query and an equal key with equal planes, relative to lag 0, extended {factor:g} times; on the "
        "right averaged over lags within 10 % of each, without YaRN's temperature. What "
        f"separates neighbours is the drop from lag 0 to 1: {1 - drop['RoPE']:.3f} for RoPE, "
        f"{1 - drop['interpolation']:.4f} after interpolation, {1 - drop['NTK']:.3f} (NTK), {1 - drop['YaRN']:.3f} "
        f"(YaRN). At the longest lag: {last['RoPE']:+.2f} (RoPE), {last['interpolation']:+.2f} (interpolation, what "
        f"RoPE has at the trained length), {last['xPos']:+.3f} (xPos), {last['ReRoPE']:+.2f} (ReRoPE, constant from "
        "half the trained length)."
    )


FIGURE = FigureSpec(
    "rotation_scores", draw, caption, notebook="longer_rotations", rows=rows,
    columns=("panel", "extension", "factor", "trained", "lag", "score"), claims=("PE-DLIN", "PE-PI-E1"),
    alt="Two panels: mean score of equal vectors against lag, near and far, one line per rotation.",
)  # fmt: skip
