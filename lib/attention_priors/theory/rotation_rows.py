"""The numbers behind the figures on rotations (notebooks 03 and 06), as rows: one dictionary per point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from attention_priors.positions import extensions, maps
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.rotary import Spectrum, rope
from attention_priors.positions.xpos import xpos

Rows = list[dict[str, float | str]]
WIDTH = 128  # of a head, as in Llama

# extension -> (spectrum, factor, trained length) -> spectrum
EXTENSIONS: dict[str, Callable[[Spectrum, float, int], Spectrum]] = {
    "RoPE": lambda spectrum, factor, trained: spectrum,
    "interpolation": lambda spectrum, factor, trained: extensions.interpolate(spectrum, factor),
    "base expansion": lambda spectrum, factor, trained: extensions.rebase(spectrum, factor),
    "NTK": lambda spectrum, factor, trained: extensions.ntk(spectrum, factor),
    "partial NTK": extensions.partial_ntk,
    "YaRN": extensions.yarn,
    "Llama 3": extensions.llama3,
}


def spectrum_rows(factor: float, trained: int, width: int = WIDTH) -> Rows:
    """Wavelength 2π / ω' of every plane, its turns in the trained length before, and ω' / ω, by extension."""
    before = rope(width)
    turned = extensions.turns(before, trained)
    return [
        {
            "extension": name,
            "factor": float(factor),
            "trained": trained,
            "plane": i,
            "turns": turned[i],
            "wavelength": 2 * np.pi / omega,
            "ratio": omega / before.omega[i],
        }
        for name, extend in EXTENSIONS.items()
        for i, omega in enumerate(extend(before, factor, trained).omega)
    ]


def mean_score(spectrum: Spectrum, lags: np.ndarray) -> np.ndarray:
    """(1/planes) Σ_i e^{-ξ_i lag} cos(ω_i lag): the score of equal q and k of equal planes, 1 at lag 0."""
    decay = np.array(spectrum.decay or (0.0,) * len(spectrum.omega))
    lags = np.asarray(lags, dtype=np.float64)[:, None]
    return (np.exp(-lags * decay) * np.cos(lags * np.array(spectrum.omega))).mean(1)


def score_rows(factor: float, trained: int, width: int = WIDTH) -> Rows:
    """The mean score near the query (lags 0 .. 24), and averaged within 10 % of lags to `factor` trained lengths."""
    spectra = {name: extend(rope(width), factor, trained) for name, extend in EXTENSIONS.items()}
    del spectra["base expansion"], spectra["Llama 3"]  # near NTK and YaRN
    spectra["xPos"] = xpos(width)
    far = np.geomspace(8, factor * trained, 60)
    rows: Rows = []
    for panel, lags, spread in (("near", np.arange(25.0), np.zeros(1)), ("far", far, np.linspace(-0.1, 0.1, 41))):
        around = lags[:, None] * (1 + spread)
        curves = {name: mean_score(spectrum, around.ravel()) for name, spectrum in spectra.items()}
        curves["ReRoPE"] = mean_score(rope(width), np.minimum(around.ravel(), trained // 2))
        rows += [
            {"panel": panel, "extension": name, "factor": float(factor), "trained": trained, "lag": float(lag),
             "score": float(value)}
            for name, values in curves.items()
            for lag, value in zip(lags, values.reshape(around.shape).mean(1), strict=True)
        ]  # fmt: skip
    return rows


def map_rows(factor: float, trained: int, seed: int) -> Rows:
    """Panel "lag": the lag that a rotation sees, by map (window: half the trained length). Panel "position": the
    positions that `trained` tokens get: their own, all of them divided by the factor, or drawn from a longer range."""
    lags = torch.linspace(0, factor * trained, 97).round().long()
    window, tokens = trained // 2, torch.arange(trained)
    seen = {
        "RoPE": lags,
        "interpolation": maps.interpolated(lags, factor),
        "ReRoPE": maps.rectified(lags, window),
        "Leaky ReRoPE": maps.leaky(lags, window, factor),
    }
    generator = torch.Generator().manual_seed(seed)
    given = {"RoPE": tokens, "interpolation": maps.interpolated(tokens, factor)}
    for draw in (1, 2, 3):
        given[f"randomised {draw}"] = maps.randomised(trained, round(factor * trained), generator)
    named = (("lag", lags, seen), ("position", tokens[:: max(1, trained // 64)], given))
    return [
        {"panel": panel, "map": name, "factor": float(factor), "trained": trained, "from": int(x), "to": float(y)}
        for panel, places, maps_ in named
        for name, values in maps_.items()
        for x, y in zip(places, values if panel == "lag" else values[places], strict=True)
    ]


def sinusoid_rows(positions: int, width: int) -> Rows:
    """The table PE(pos, column) of the survey's heat map."""
    table = Sinusoidal(width)(torch.arange(positions)).numpy()
    return [
        {"position": p, "column": c, "value": round(float(table[p, c]), 4)}
        for p in range(positions)
        for c in range(width)
    ]
