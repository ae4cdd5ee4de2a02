"""What each extension does to RoPE's wavelengths and frequencies, plane by plane."""

import numpy as np

from ...positions.extensions import turns
from ...positions.rotary import rope
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Size, stacked
from . import FACTOR, WIDTH, extended, line


def spectra(factor: float, trained: int) -> Frame:
    """Wavelength 2π / ω' of every plane, its turns in the trained length before, and ω' / ω, by extension."""
    before = np.array(rope(WIDTH).omega)
    known = {"factor": float(factor), "trained": trained, "plane": range(len(before))}
    known["turns"] = turns(rope(WIDTH), trained)
    omegas = {name: np.array(spectrum.omega) for name, spectrum in extended(factor, trained).items()}
    parts = [
        {"extension": name, **known, "wavelength": 2 * np.pi / omega, "ratio": omega / before}
        for name, omega in omegas.items()
    ]
    return stacked(parts)


def rows(size: Size, seed: int) -> Frame:
    """A head trained on four times the length of the profile."""
    return spectra(FACTOR, 4 * size.length)


def draw(frame: Frame) -> Figure:
    fig, (waves, ratios) = style.figure(style.MIDDLE, 2.9, ncols=2)
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    for place, (name, part) in enumerate(frame.groupby("extension", sort=False)):
        mark = {"markevery": (place, 9), "markersize": 3}
        waves.plot(part["plane"], part["wavelength"], **line(name, **mark))
        ratios.plot(part["turns"], part["ratio"], **line(name, **mark))
    for length, label in ((trained, "trained length"), (factor * trained, f"{factor:g} times that")):
        lines.level(waves, length)
        waves.text(0, 1.15 * length, label, fontsize=style.SMALLEST, color=style.DARK)
    waves.set(yscale="log", xlabel="plane $i$ of the head", ylabel=r"wavelength $2\pi/\omega_i$ (positions)")
    style.legend(fig, [waves], "lower center", ncols=4)
    ratios.set(xscale="log", xlabel="turns in the trained length", ylabel=r"share of $\omega_i$ that is left")
    ratios.set_ylim(0, 1.05)
    ratios.invert_xaxis()  # planes in the order of the left panel
    lines.level(ratios, 1 / factor)
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    trained, factor = int(frame["trained"].iloc[0]), frame["factor"].iloc[0]
    never = frame[(frame["extension"] == "RoPE") & (frame["turns"] < 1)]
    kept = ((frame["ratio"] - 1).abs() < 1e-9).groupby(frame["extension"], sort=False).sum()
    listed = ", ".join(f"{count} ({name})" for name, count in kept.items() if name != "RoPE")
    return (
        f"A head of {frame['plane'].nunique()} planes, trained on {trained:,} positions, extended {factor:g} times. "
        f"Panel a: the wavelength of every plane; {len(never)} planes never complete a turn in training. Panel b: what "
        "each extension leaves of a frequency, against the turns that the plane made in training (slow planes on the "
        f"right; dotted: 1/{factor:g}). Planes left untouched: {listed}."
    )


def explore(factor: float, trained: int) -> Figure:
    """The extensions at one factor and trained length."""
    return lines.once(draw(spectra(factor, int(trained))))


FIGURE = FigureSpec(
    "rotation_spectra",
    draw,
    caption,
    notebook="longer_rotations",
    rows=rows,
    claims=("PE-NTK", "PE-DNTK", "PE-PNTK"),
    alt="Two panels: wavelength against plane, and remaining frequency against turns in training, one line per "
    "extension of RoPE.",
)
