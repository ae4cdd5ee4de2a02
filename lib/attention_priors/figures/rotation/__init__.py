"""Rotations: what the extensions do to a spectrum, mean scores by lag, maps of positions, the sinusoidal table."""

from ...positions import extensions
from ...positions.rotary import Spectrum, rope
from ..lines import look
from ..style import BLUE, GREEN, INDIGO, OCHRE, ORANGE, PINK, SKY, SOLID

WIDTH = 128  # of a head, as in Llama
FACTOR = 8.0  # by which the figures extend
# colour, dashes, marker
LINES: dict[str, tuple[str, tuple, str]] = {
    "RoPE": (GREEN, SOLID, "None"),
    "interpolation": (BLUE, (5, 1.5), "s"),
    "base expansion": (PINK, (1, 1), "D"),
    "NTK": (OCHRE, (3, 1), "^"),
    "partial NTK": (SKY, (5, 1, 1, 1), "v"),
    "YaRN": (ORANGE, SOLID, "o"),
    "Llama 3": (INDIGO, (3, 1, 1, 1, 1, 1), "P"),
}


def line(name: str, **more: object) -> dict[str, object]:
    return look(*LINES[name], name, **more)


def extended(factor: float, trained: int) -> dict[str, Spectrum]:
    """RoPE's spectrum as each extension leaves it."""
    base = rope(WIDTH)
    return {
        "RoPE": base,
        "interpolation": extensions.interpolate(base, factor),
        "base expansion": extensions.rebase(base, factor),
        "NTK": extensions.ntk(base, factor),
        "partial NTK": extensions.partial_ntk(base, factor, trained),
        "YaRN": extensions.yarn(base, factor, trained),
        "Llama 3": extensions.llama3(base, factor, trained),
    }
