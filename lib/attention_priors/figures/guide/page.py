"""The additive priors of the field: one at a time for sliders, their table, and the properties of all encodings."""

import math

import numpy as np
import torch

from ...experiments import properties
from ...positions import mass
from ...positions.encodings import ENCODINGS
from ...positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    RelativePrior,
    Sandwich,
    T5Buckets,
    Uniform,
    bucket_starts,
)
from ...positions.spectral import Fourier
from .. import lines, style
from ..spec import Figure, Frame, Rows, Size, TableSpec


# Settings of every additive prior of the survey, BAM and Goat, which the page and the table of priors share
def examples() -> dict[str, list[tuple[str, RelativePrior, int]]]:
    """Up to three settings of a family, which share a picture: name, prior and the head of it."""
    t5 = T5Buckets(3)
    starts = torch.tensor(bucket_starts(), dtype=torch.float32)
    with torch.no_grad():  # what training may leave: a slope in ln d, a far-sighted head, a head that skips neighbours
        t5.values.copy_(torch.stack([-1.5 * starts.log1p(), -0.25 * starts.log1p(), -4.0 / (1 + starts)]))
    modes = (2 * math.pi / 16, 2 * math.pi / 128, 2 * math.pi / 1024)
    waves = Fourier(modes, torch.tensor([[0.0, 0, 1], [0, 1.5, 1.5], [1, 1, 1]]), torch.zeros(3, 3))
    slopes, gaussians = (1 / 4, 1 / 16, 1 / 256), ((1.0, 16.0), (0.5, 4.0), (0.25, 1.0))
    below, powers = (-0.25, -0.5, -1.0), ((0.25, 0.5), (0.05, 1.0), (1e-4, 2.0))
    logs = ((2.0, 1.0), (1.0, 1.0), (0.5, 1.0))
    return {
        "Uniform (NoPE)": [("", Uniform(1), 0)],
        "ALiBi": [(f"m = 1/{1 / m:.0f}", Laplace([m]), 0) for m in slopes],
        "GGD, β > 0": [(f"β = {b:g}, α = {a:g}", _gaussian(a, b), 0) for b, a in gaussians],
        "GGD, β < 0": [(f"β = {b:g}, α = 16", _gaussian(16.0, b), 0) for b in below],
        "KERPLE, power": [(f"r₁ = {a:g}, r₂ = {b:g}", KerplePower([a], [b]), 0) for a, b in powers],
        "KERPLE, log": [(f"r₁ = {a:g}, r₂ = {b:g}", KerpleLog([a], [b]), 0) for a, b in logs],
        "T5 buckets": [(name, t5, head) for head, name in enumerate(("steep", "flat", "far"))],
        "Sandwich": [(f"head {h} of 12", Sandwich(12), h - 1) for h in (3, 6, 12)],
        "Fourier (Goat)": [(name, waves, head) for head, name in enumerate(("1 mode", "2 modes", "3 modes"))],
    }


def _gaussian(alpha: float, beta: float) -> GeneralizedGaussian:
    return GeneralizedGaussian([-beta * math.log(alpha)], [beta])


@torch.no_grad()
def table(prior: RelativePrior, head: int, keys: int) -> torch.Tensor:
    """The log-prior of one head at the lags 0 .. keys - 1 in float64: [1 keys]."""
    return prior.log_prior(torch.arange(keys))[head : head + 1].double()


# The additive priors of the field, one at a time, for sliders
def explore(keys: int, family: str, first: float, second: float) -> Figure:
    """One prior by lag: ALiBi (m), GGD (β, α), KERPLE power and log (r₁, r₂), Sandwich (ratio, width)."""
    lags = np.arange(keys, dtype=np.float64)
    half = max(1, round(second / 2))
    biases = {
        "ALiBi": lambda: -first * lags,
        "GGD": lambda: -(((lags + 1e-5) / second) ** first),
        "KERPLE, power": lambda: -first * lags ** min(second, 2),
        "KERPLE, log": lambda: -first * np.log1p(second * lags),
        "Sandwich": lambda: np.cos(np.outer(lags, 1e4 ** (-np.arange(half) / half))).sum(1) / first,
    }
    bias = biases[family]()
    weights = np.exp(bias - bias.max())
    weights /= weights.sum()
    fig, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(lags + 1, keys * weights, color=style.BLUE)
    lines.level(ax, 1.0)
    beyond = weights[keys // 8 :].sum()
    ax.set(xscale="log", yscale="log", ylim=(1e-4, None), xlabel="lag $d$ + 1", ylabel="weight / uniform share")
    ax.set_title(f"{family}: mass of the far 7/8 is {beyond:.3g}")
    return lines.once(fig)


# The table of the additive priors
# log-prior, normaliser, tail mass, parameters per head
TEXT = {
    "Uniform (NoPE)": ("0", "n", "1, always", 0),
    "ALiBi": ("-m d", "1 / (1 - e^-m)", "e^(-m (D + 1)) < 1", 0),
    "GGD, β > 0": ("-(d / α)^β", "about α Γ(1 + 1/β)", "Q(1/β, (D/α)^β) < 1 at most", 2),
    "GGD, β < 0": ("-(α / d)^|β|", "about n for n >> α", "1, always", 2),
    "KERPLE, power": ("-r₁ d^r₂, 0 < r₂ <= 2", "about r₁^(-1/r₂) Γ(1 + 1/r₂)", "Q(1/r₂, r₁ D^r₂) < 1 at most", 2),
    "KERPLE, log": ("-r₁ ln(1 + r₂ d)", "r₂^-r₁ ζ(r₁, 1/r₂) for r₁ > 1; else grows with n",
                    "ζ(r₁, 1/r₂ + D + 1) / ζ(r₁, 1/r₂) < 1 for r₁ > 1, else 1", 2),
    "T5 buckets": ("b[bucket(d)]", "about n e^b31", "1, always", 32),
    "Sandwich": ("(1/r_h) Σ cos(ω_i d)", "grows with n (bounded bias)", "1, always", 0),
    "Fourier (Goat)": ("Σ α_r cos(ω_r d) + β_r sin(ω_r d)", "grows with n (bounded bias)", "1, always", "2 per mode"),
}  # fmt: skip


def rows_priors(size: Size, seed: int) -> Rows:
    """Normaliser relative to lag 0 (or the largest weight), tail masses, mean lag and 99 % window of every setting."""
    keys, windows, found = 128 * size.length, (8, 64, 8 * size.length), []
    for family, settings in examples().items():
        for setting, prior, head in settings:
            logs = table(prior, head, keys)
            row = {"family": family, "setting": setting, "keys": keys}
            row["normaliser"] = float((logs - logs.max()).exp().sum())
            row |= {f"tail {window}": float(mass.tail_mass(logs, window)) for window in windows}
            found.append({**row, "mean lag": float(mass.mean_lag(logs)), "window": int(mass.window_for(logs, 0.01))})
    return found


def build_priors(frame: Frame) -> Frame:
    """One row per setting, each statistic as formula and as number."""
    text = frame["family"].map(TEXT)
    built = Frame({"prior": frame["family"], "setting": frame["setting"].fillna("")})
    built["log-prior b(d)"] = [row[0] for row in text]
    built["learned per head"] = [row[3] for row in text]
    built["normaliser Σ exp(b), n keys"] = [row[1] for row in text]
    built["tail mass P(lag > D), n → ∞"] = [row[2] for row in text]
    keys = int(frame["keys"].iloc[0])
    built[f"Σ exp(b - max b), {keys:,} keys"] = frame["normaliser"].map("{:.4g}".format)
    for name in (name for name in frame.columns if name.startswith("tail ")):
        built[f"P(lag > {name.split()[1]})"] = frame[name].map("{:.3g}".format)
    built["mean lag"] = frame["mean lag"].map("{:.4g}".format)
    built["window for 99 %"] = frame["window"]
    return built


def caption_priors(frame: Frame) -> str:
    return (
        "The additive priors of the field: formula, normaliser, tail mass and mean lag, with numbers for "
        f"{int(frame['keys'].iloc[0]):,} visible keys (all lags d = 0..n - 1, equal content). Parameters of T5's rows "
        "are examples: its prior is what it learned."
    )


PRIORS = TableSpec(
    "guide_priors",
    build_priors,
    caption_priors,
    notebook="field_guide",
    rows=rows_priors,
)


# The table of properties of the encodings, each found by a test on a small model
NAMED = {"relative": "relative", "trainable": "trainable", "each_layer": "in each layer"}


def rows_properties(size: Size, seed: int) -> Frame:
    """A row for each encoding that is trained as itself and without SSMax."""
    names = [k for k, row in ENCODINGS.items() if row.trained_as is None and not row.ssmax]
    return properties.properties([k for k in names if ENCODINGS[k].family != "composition"])


def build_properties(frame: Frame) -> Frame:
    """A row for each encoding, yes or no."""
    answers = frame[list(NAMED)].replace({True: "yes", False: "no"}).rename(columns=NAMED)
    return answers.assign(encoding=frame["label"])[["encoding", *NAMED.values()]]


def caption_properties(frame: Frame) -> str:
    return (
        f"Properties of {len(frame)} encodings, each found by a test on a small model with moved parameters: relative, "
        "the scores of one token everywhere depend on i - j alone, up to a constant of the row; trainable, positions "
        "have parameters that a gradient moves; in each layer, and not added to the input alone."
    )


PROPERTIES = TableSpec(
    "guide_properties",
    build_properties,
    caption_properties,
    notebook="field_guide",
    rows=rows_properties,
)
