"""Priors that ALiBi's slope cannot follow, with the best slope and the best sum of waves (Goat, section 4)."""

import numpy as np

from attention_priors.figures import lines, panels, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.positions.spectral import geometric
from attention_priors.theory import spectra
from attention_priors.theory.bands import divergence
from attention_priors.theory.inference import softmax
from attention_priors.theory.maximum_entropy import maximum_entropy

# the target, the best slope, the best sum of waves
LOOKS = ((style.PALE, style.SOLID, "None", "target"), (style.ORANGE, (1, 1), "None", "best slope"),
         (style.BLUE, (4, 1.5), "None", "best sum of waves"))  # fmt: skip


def rows(size: Size, seed: int, modes=24) -> Frame:
    """Each target, the best slope and R modes (both in KL), by lag; kl repeats the divergence of the best member."""
    parts, lags = [], np.arange(float(size.length))
    for name, log_prior in spectra.shapes(size.length).items():
        p = softmax(log_prior(lags))
        q, _ = maximum_entropy(lags, p @ lags)
        fit = softmax(spectra.capped(log_prior(lags), geometric(modes), spectra.LARGEST)(lags))
        for family, weights in (("target", p), ("slope", q), (f"{modes} modes", fit)):
            own = {"target": name, "family": family, "lag": lags.astype(int), "weight": weights}
            parts.append(own | {"kl": divergence(p, weights)})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    made = {}
    for name, own in frame.groupby("target", sort=False):
        shares = own.assign(share=own["weight"] * own["lag"].nunique())
        slope, waves = (part["kl"].iloc[0] for _, part in list(own.groupby("family", sort=False))[1:])
        missed = f"KL {slope:.2f}, {abs(waves):.0e} nats"
        made[f"{name}\n{missed}"] = panels.series(shares, "lag", "share", "family", LOOKS)
    labels = ("lag $d$", "weight / uniform share")
    return panels.draw(made, *labels, height=1.6, sharey=False, legend="above", ylim=(0, None))[0]


def caption(frame: Frame) -> str:
    kl = frame.groupby(["target", "family"], sort=False)["kl"].first().unstack(sort=False)
    waves = kl.columns[-1]
    return (
        "Four priors over lags, weight times the number of lags (grey; 1 for a uniform prior), the best slope of "
        f"either sign (dotted) and the best sum of {waves} (dashed), both closest in KL, whose value stands above. "
        f"The slope misses by {kl['slope'].min():.2g} to {kl['slope'].max():.2g} nats, the waves by at most "
        f"{kl[waves].max():.1g}."
    )


def explore(length: int, modes: int, alpha: float, beta: float, shift: float) -> Figure:
    """kappa and its prior: some half waves, the coefficients alpha and beta times r^-decay."""
    fig, (log_prior, prior) = style.figure(style.MIDDLE, 2.0, ncols=2)
    lags, r = np.arange(length), np.arange(1, modes + 1)
    kappa = spectra.wave(lags, np.pi * r / length, alpha / r**shift, beta / r**shift)
    weights = np.exp(kappa - kappa.max())
    log_prior.plot(lags, kappa, color=style.BLUE)
    log_prior.set(xlabel="lag $d$", title=r"log-prior $\kappa(d)$")
    prior.plot(lags, length * weights / weights.sum(), color=style.ORANGE)
    lines.level(prior, 1)
    prior.set(xlabel="lag $d$", title="weight / uniform share", ylim=(0, None))
    return lines.once(fig)


FIGURE = FigureSpec(
    "spectra_shapes",
    draw,
    caption,
    notebook="spectra_and_sinks",
    paper="Goat, section 4",
    rows=rows,
    columns=("target", "family", "lag", "weight", "kl"),
    claims=("GOAT-C-3", "GOAT-C-12"),
    alt="Four priors by lag with their best slope and best sum of waves: attracting, repelling, a band of lags, "
    "periodic. The waves lie on the first three targets and overshoot the ends of the periodic one; the slope follows "
    "none.",
)
