"""Spectra and sinks: priors that no slope can follow, the band of content, sinks by length and noise in values."""

import numpy as np

from ...positions.spectral import geometric
from ...theory import spectra
from ...theory.bands import band, divergence, margin_for, most_noise, most_share, printed_band
from ...theory.inference import posterior, softmax
from ...theory.maximum_entropy import maximum_entropy
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked
from ..words import farthest

# Priors that ALiBi's slope cannot follow, with the best slope and the best sum of waves
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
        f"either sign (dotted) and the best sum of {waves} (dashed), both closest in KL. Above: that of the "
        "slope, that of the waves. "
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


SHAPES = FigureSpec(
    "spectra_shapes",
    draw,
    caption,
    notebook="spectra_and_sinks",
    paper="Goat, section 4",
    rows=rows,
    claims=("GOAT-C-3", "GOAT-C-12"),
    alt="Four priors by lag with their best slope and best sum of waves: attracting, repelling, a band of lags, "
    "periodic. The waves lie on the first three targets and overshoot the ends of the periodic one; the slope follows "
    "none.",
)


# The band that content can move a prior within
def rows_band(size: Size, seed: int, omegas=(0.5, 2.0, 4.0), draws=400, keys=8, steps=201) -> Frame:
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


def draw_band(frame: Frame) -> Figure:
    bands, draws = frame[frame["kind"] == "band"], frame[frame["kind"] == "draw"]
    omegas = sorted(bands["omega"].unique())
    fig, axes = style.figure(style.MIDDLE, 2.5, ncols=len(omegas), sharey=True)
    for ax, omega in zip(axes, omegas, strict=True):
        part, dots = bands[bands["omega"] == omega], draws[draws["omega"] == omega]
        ax.fill_between(part["prior"], part["sharp low"], part["sharp high"], color=style.BLUE, alpha=0.15, linewidth=0)
        for end, shown in (("low", ""), ("high", "_")):
            ax.plot(part["prior"], part[f"sharp {end}"], color=style.BLUE, label=f"{shown}sharp")
            ax.plot(part["prior"], part[f"printed {end}"], color=style.ORANGE, dashes=(3, 1.5), label=f"{shown}printed")
        look = {"color": style.BLACK, "markersize": 1.6, "markeredgewidth": 0, "label": "random rows"}
        ax.plot(dots["prior"], dots["posterior"], ".", rasterized=True, **look)
        ax.set(xlim=(0, 1), ylim=(0, 1.25), xlabel=r"prior $\pi$", title=rf"$\omega = {omega:g}$")
        lines.level(ax, 1)
    axes[0].set_ylabel("posterior $p$")
    style.legend(fig, [axes[0]], "lower center", ncols=3, markerscale=3)
    return fig


def caption_band(frame: Frame) -> str:
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


BAND = FigureSpec(
    "spectra_band",
    draw_band,
    caption_band,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.1",
    rows=rows_band,
    claims=("GOAT-T5.1", "GOAT-T5.1t"),
    alt="Posterior by prior mass for three score ranges: a lens-shaped band with random rows filling it, and the "
    "printed straight-line bounds around it, which leave the unit square.",
)


# Sinks by context length
LENGTHS = tuple(2 * 4**k for k in range(14))
SINKS_LOOKS = {
    "margin": (style.BLUE, None, None, r"$\delta = {:g}$"),
    "decay": (style.GREEN, style.SOLID, "^", r"$u = -{:g}\,k$"),
    "logarithmic": (style.ORANGE, (5, 1, 1, 1), "D", r"$\delta \sim \ln L$"),
    "bounded": (style.GREY, (3, 1, 1, 1, 1, 1), "X", r"best with $|K| \leq B = {:g}$"),
}
# of noise in values, and the priors that it meets: colour, dashes, marker
KINDS = {"alike": "alike", "independent": "independent", "independent, all keys": "independent, the sink's too"}
PRIORS = {"uniform": (style.BLUE, style.SOLID, "o"), "peaked": (style.ORANGE, (5, 1.5), "s")}


def rows_sinks(
    size: Size, seed: int, lengths=LENGTHS, margins=(0.0, 2.0, 5.0, 10.0), decay=0.5, bound=3.5, sink=0.9
) -> Rows:
    """What is off the sink, and what noise in values does, by context length.

    noise: mass off the sink at a fixed `margin` over equal rivals (0 is uniform), at the slope u(k) = -c k (`decay`),
    at the margin ln(L - 1) + ln 9 (`logarithmic`), and the least under a log-prior within [-B, B] (`bounded`).
    response: the output's change when values change by 1, alike or independently, under a uniform prior and under one
    that keeps the mass `sink` on one key, whose value changes only in `independent, all keys`.
    """
    found: Rows = []

    def add(panel: str, series: str, keys: int, value: float, **more: float | str) -> None:
        found.append({"panel": panel, "series": series, "keys": keys, "value": float(value), **more})

    for keys in lengths:
        for delta in margins:
            add("noise", "margin", keys, most_noise(delta, keys), parameter=delta)
        left = np.exp(-decay) * np.expm1(-decay * (keys - 1)) / np.expm1(-decay * keys)
        add("noise", "decay", keys, left, parameter=decay)
        add("noise", "logarithmic", keys, most_noise(margin_for(0.1, keys), keys), parameter=0.1)
        add("noise", "bounded", keys, 1 - most_share(bound, keys), parameter=bound)
        for name, top in (("uniform", 1 / keys), ("peaked", sink)):
            rest = (1 - top) / (keys - 1)
            add("response", name, keys, 1 - top, kind="alike")
            add("response", name, keys, rest * np.sqrt(keys - 1), kind="independent")
            add("response", name, keys, np.hypot(top, rest * np.sqrt(keys - 1)), kind="independent, all keys")
    return found


def draw_sinks(frame: Frame) -> Figure:
    fig, ax = style.figure(style.MIDDLE, 2.4)
    margins = iter(((1, 1), (3, 1), (6, 1), style.SOLID))  # dashes of the margins, from small to large
    noise = frame[frame["panel"] == "noise"].groupby(["series", "parameter"], sort=False)
    for (series, parameter), part in noise:
        color, dashes, marker, name = SINKS_LOOKS[series]
        look = lines.look(color, dashes or next(margins), marker, name.format(parameter), markersize=3, markevery=2)
        ax.plot(part["keys"], part["value"], **look)
    ax.set(xscale="log", ylim=(-0.03, 1.03), xlabel="context length $L$ (keys)", ylabel=r"mass off the sink, $\Psi$")
    ax.minorticks_off()
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def caption_sinks(frame: Frame) -> str:
    final = farthest(frame)
    noise = final[final["panel"] == "noise"].set_index(["series", "parameter"])["value"]
    top = max(p for s, p in noise.index if s == "margin")
    decay = next(p for s, p in noise.index if s == "decay")
    return (
        "Mass off the sink where content says nothing, by how the sink leads its rivals: by a fixed margin δ, by the "
        f"slope u(k) = -{decay:g} k, by a margin that grows like ln L. At {int(frame['keys'].max()):,} keys the "
        f"mass off it is near 1 under every fixed margin (δ = {top:g}: {noise['margin', top]:.3f}) and under the best "
        f"log-prior with |K| ≤ B (its margin is 2 B); it stays at {noise['decay', decay]:.3f} under the slope and at "
        "0.1 under the margin ln(L - 1) + ln 9."
    )


def draw_response(frame: Frame) -> Figure:
    response = frame[frame["panel"] == "response"]
    made = {
        title: panels.series(response[response["kind"] == kind], "keys", "value", "series", PRIORS, markevery=2)
        for kind, title in KINDS.items()
    }
    axis = {"base": 10, "yscale": "log", "legend": "above"}
    return panels.draw(made, "context length $L$ (keys)", "change of output / of values", height=1.6, **axis)[0]


def caption_response(frame: Frame) -> str:
    final = frame[(frame["keys"] == frame["keys"].max()) & (frame["panel"] == "response")]
    response = final.set_index(["series", "kind"])["value"]
    return (
        "How far the output moves when values move by 1, under a uniform prior and under one that keeps most of its "
        f"mass on a sink. At {int(frame['keys'].max()):,} keys: where all values but the sink's move alike, only the "
        f"peak helps ({response['peaked', 'alike']:.2f} against {response['uniform', 'alike']:.2f}); where they move "
        f"independently, the uniform prior averages it away ({response['uniform', 'independent']:.1e}); where the "
        f"sink's value moves too, the peaked prior passes {response['peaked', 'independent, all keys']:.2f} of it."
    )


SINKS = FigureSpec(
    "spectra_sinks",
    draw_sinks,
    caption_sinks,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.4",
    rows=rows_sinks,
    claims=("GOAT-D5.2", "GOAT-T5.4a", "GOAT-T5.4b", "X-8"),
    alt="Mass off the sink by context length: fixed margins rise to one, a slope and a growing margin stay level.",
)
RESPONSE = FigureSpec(
    "spectra_sinks",
    draw_response,
    caption_response,
    notebook="spectra_and_sinks",
    paper="Goat, Theorem 5.4",
    rows=rows_sinks,
    claims=("GOAT-C-5",),
    alt="Three panels of the response to noise in values by context length: level for noise that is alike, falling "
    "with slope minus one half for independent noise, level again under a peaked prior where the sink's value is "
    "noisy.",
)
