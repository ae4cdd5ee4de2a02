"""Rotations: what the extensions do to a spectrum, mean scores by lag, maps of positions, the sinusoidal table."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.theory.rotation_rows import spectrum_rows

NOTEBOOK = "06_longer_rotations"
# colour, dashes, marker
LINES: dict[str, tuple[str, tuple, str]] = {
    "RoPE": ("#4D4D4D", style.SOLID, "None"),
    "interpolation": ("#0072B2", (5, 1.5), "s"),
    "base expansion": ("#CC79A7", (1, 1), "D"),
    "NTK": ("#E69F00", (3, 1), "^"),
    "partial NTK": ("#56B4E9", (5, 1, 1, 1), "v"),
    "YaRN": ("#D55E00", style.SOLID, "o"),
    "Llama 3": ("#009E73", (3, 1, 1, 1, 1, 1), "P"),
    "xPos": ("#009E73", (3, 1, 1, 1, 1, 1), "P"),
    "ReRoPE": ("#000000", (1, 1), "X"),
    "Leaky ReRoPE": ("#D55E00", (5, 1.5), "o"),
}


def line(name: str, **more: object) -> dict[str, object]:
    color, dashes, marker = LINES[name]
    return {"color": color, "dashes": dashes, "marker": marker, "label": name} | more


def draw_spectra(frame: pd.DataFrame) -> Figure:
    """Columns extension, plane, turns, wavelength, ratio: wavelengths by plane, and what is left of ω by turns."""
    fig, (waves, ratios) = style.figure(style.DOUBLE, 2.7, ncols=2)
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    for place, (name, rows) in enumerate(frame.groupby("extension", sort=False)):
        mark = {"markevery": (place, 9), "markersize": 3}
        waves.plot(rows["plane"], rows["wavelength"], **line(name, **mark))
        ratios.plot(rows["turns"], rows["ratio"], **line(name, **mark))
    for length, label in ((trained, "trained length"), (factor * trained, f"{factor:g} times that")):
        waves.axhline(length, color="#999999", linewidth=0.7, linestyle=":")
        waves.text(0, 1.15 * length, label, fontsize=style.SMALLEST, color="#555555")
    waves.set(yscale="log", xlabel="plane $i$ of the head", ylabel=r"wavelength $2\pi/\omega_i$ (positions)")
    waves.legend(loc="lower right")
    ratios.set(xscale="log", xlabel="turns in the trained length", ylabel=r"share of $\omega_i$ that is left")
    ratios.set_ylim(0, 1.05)
    ratios.invert_xaxis()  # planes in the order of the left panel
    ratios.axhline(1 / factor, color="#999999", linewidth=0.7, linestyle=":")
    return fig


def caption_spectra(frame: pd.DataFrame) -> str:
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    never = frame[(frame["extension"] == "RoPE") & (frame["turns"] < 1)]
    kept = {
        name: int((np.abs(rows["ratio"] - 1) < 1e-9).sum()) for name, rows in frame.groupby("extension", sort=False)
    }
    listed = ", ".join(f"{kept[name]} ({name})" for name in kept if name != "RoPE")
    planes = frame["plane"].nunique()
    return (
        f"A head of {planes} planes, trained on {trained:,} positions, extended {factor:g} times. Left: the wavelength "
        f"of every plane; {len(never)} planes never complete a turn in training. Right: what each extension leaves of "
        f"a frequency, against the turns that the plane made in training (slow planes on the right; dotted: "
        f"1/{factor:g}). Planes left untouched: {listed}."
    )


def draw_scores(frame: pd.DataFrame) -> Figure:
    """Columns panel, extension, lag, score: near lags, and far ones on a logarithmic axis."""
    fig, axes = style.figure(style.DOUBLE, 2.5, ncols=2, sharey=True)
    trained = int(frame["trained"].iloc[0])
    for ax, panel in zip(axes, ("near", "far"), strict=True):
        for place, (name, rows) in enumerate(frame[frame["panel"] == panel].groupby("extension", sort=False)):
            every = (place % 4, 4) if panel == "near" else (place, 9)
            ax.plot(rows["lag"], rows["score"], **line(name, markevery=every, markersize=3))
        ax.axhline(0, color="#999999", linewidth=0.6)
    axes[0].set(xlabel="lag", ylabel="mean score of equal $q$ and $k$", title="near", ylim=(-0.15, 1.05))
    axes[1].set(xscale="log", xlabel="lag", title="far (averaged)")
    axes[1].axvline(trained, color="#999999", linewidth=0.7, linestyle=":")
    axes[1].text(trained, 0.97, " trained", fontsize=style.SMALLEST, color="#555555", va="top",
                 transform=axes[1].get_xaxis_transform())  # fmt: skip
    axes[0].legend(loc="lower left", ncols=2)
    return fig


def caption_scores(frame: pd.DataFrame) -> str:
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


def draw_maps(frame: pd.DataFrame) -> Figure:
    """Columns panel, map, from, to: the lag that a rotation sees, and the positions that tokens get."""
    fig, (lags, positions) = style.figure(style.DOUBLE, 2.4, ncols=2)
    trained = int(frame["trained"].iloc[0])
    for name, rows in frame[frame["panel"] == "lag"].groupby("map", sort=False):
        lags.plot(rows["from"], rows["to"], **line(name, markevery=12, markersize=3))
    lags.axhspan(0, trained, color="#EFEFEF", zorder=0)
    lags.text(frame["from"].max(), 0.05 * trained, "seen in training", ha="right", va="bottom",
              fontsize=style.SMALLEST, color="#555555")  # fmt: skip
    lags.set(xlabel="lag $i - j$", ylabel="lag that the rotation sees", ylim=(0, 2.5 * trained), title="maps of lags")
    lags.legend(loc="upper right")
    drawn = frame[frame["panel"] == "position"]
    for name, rows in drawn.groupby("map", sort=False):
        label = "randomised" if name.endswith("1") else "_"
        loose = {"color": "#CC79A7", "marker": ".", "markersize": 2.5, "linewidth": 0.6, "label": label}
        positions.plot(rows["from"], rows["to"], **(line(name, marker="None") if name in LINES else loose))
    positions.set(xlabel="token", ylabel="position given to it", title="maps of positions")
    positions.legend(loc="upper left")
    return fig


def caption_maps(frame: pd.DataFrame) -> str:
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    last = frame[frame["panel"] == "lag"].groupby("map", sort=False).last()
    return (
        f"Left: the lag that a rotation sees; grey, lags up to the trained length ({trained}). At lag "
        f"{int(last['from'].iloc[0]):,} interpolation sees {last.loc['interpolation', 'to']:g}, ReRoPE "
        f"{last.loc['ReRoPE', 'to']:g} and Leaky ReRoPE {last.loc['Leaky ReRoPE', 'to']:g}, which leaves the trained "
        f"range at lag {_leaves(frame):,}. Right: positions given to {trained} tokens, three draws from "
        f"{factor * trained:g}."
    )


def _leaves(frame: pd.DataFrame) -> int:
    """The lag at which Leaky ReRoPE, with a window of half the trained length, sees more than the trained length."""
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    return int(trained // 2 + factor * (trained - trained // 2))


def draw_sinusoids(frame: pd.DataFrame) -> Figure:
    """Columns position, column, value: the heat map of the table."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    table = frame.pivot(index="position", columns="column", values="value").to_numpy()
    image = ax.imshow(table, aspect="auto", interpolation="nearest", vmin=-1, vmax=1)
    ax.grid(False)
    ax.set(xlabel="column $c$ (even: sine, odd: cosine)", ylabel="position")
    fig.colorbar(image, ax=ax, ticks=(-1, 0, 1), label="PE(pos, c)")
    return fig


def caption_sinusoids(frame: pd.DataFrame) -> str:
    positions, width = frame["position"].nunique(), frame["column"].nunique()
    slow = frame.groupby("column")["value"].agg(lambda x: np.sign(x[np.abs(x) > 1e-9]).nunique() == 1).sum()
    return (
        f"The sinusoidal table for {positions} positions and {width} columns. Wavelengths grow from 2π on the left to "
        f"2π · 10000^(1 - 2/{width}) on the right; {int(slow)} of the columns never change sign within these "
        "positions and tell them apart only by small amounts."
    )


def explore(factor: float, trained: int) -> Figure:
    """The extensions at one factor and trained length, for sliders."""
    figure = draw_spectra(pd.DataFrame(spectrum_rows(factor, int(trained))))
    plt.close(figure)  # shown once, as the returned value
    return figure


FIGURES = {
    "rotation_spectra": FigureSpec(
        "rotation_spectra",
        draw_spectra,
        caption_spectra,
        "Two panels: wavelength against plane, and remaining frequency against turns in training, one line per "
        "extension of RoPE.",
        "",
        NOTEBOOK,
    ),
    "rotation_scores": FigureSpec(
        "rotation_scores",
        draw_scores,
        caption_scores,
        "Two panels: mean score of equal vectors against lag, near and far, one line per rotation.",
        "",
        NOTEBOOK,
    ),
    "rotation_maps": FigureSpec(
        "rotation_maps",
        draw_maps,
        caption_maps,
        "Two panels: lag seen by the rotation against lag; positions given against token.",
        "",
        NOTEBOOK,
    ),
    "rotation_sinusoids": FigureSpec(
        "rotation_sinusoids",
        draw_sinusoids,
        caption_sinusoids,
        "Heat map of sines and cosines by position and column: curved waves on the left; on the right vertical "
        "stripes, sines near zero beside cosines near one, that hardly change with the position.",
        "",
        "03_field_guide",
    ),
}
