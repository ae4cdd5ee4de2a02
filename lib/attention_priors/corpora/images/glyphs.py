"""Ten digits, drawn from the fonts that come with matplotlib at any resolution.

A drawing is a font, a digit, a size and a place, all relative to the picture, so that the same drawing can be made
sharp at every resolution: nothing is stretched. Fonts of the test are not those of training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib import get_data_path
from matplotlib.ft2font import FT2Font, LoadFlags
from torch import Tensor

from ... import runtime
from .source import Images, Labels, Pictures

DIGITS = "0123456789"
TRAINING = (
    "DejaVuSans",
    "DejaVuSans-Oblique",
    "DejaVuSans-BoldOblique",
    "DejaVuSansMono",
    "DejaVuSansMono-Bold",
    "DejaVuSansMono-BoldOblique",
    "DejaVuSerif",
    "DejaVuSerif-Bold",
    "DejaVuSerif-BoldItalic",
    "STIXGeneralBol",
    "STIXGeneralItalic",
    "STIXGeneralBolIta",
    "cmr10",
    "cmb10",
    "cmtt10",
)
TEST = ("DejaVuSans-Bold", "DejaVuSansMono-Oblique", "DejaVuSerif-Italic", "STIXGeneral", "cmss10", "cmti10")
SMALLEST, LARGEST = 0.5, 0.9  # height of a digit as a share of the picture's
FULL = 64.0  # points at which a glyph is measured
FINE = 4  # each pixel is the mean of so many squared, so that a place is the same at every resolution


@dataclass(frozen=True)
class Drawings:
    """What to draw: numbers of `fonts`, digits, heights and places (0: at the left or top edge, 1: at the other)."""

    fonts: tuple[str, ...]
    font: Int[Tensor, " count"]
    digit: Int[Tensor, " count"]
    height: Float[Tensor, " count"]
    across: Float[Tensor, " count"]
    down: Float[Tensor, " count"]

    def at(self, side: int) -> Images:
        """The drawings at a resolution, ink 1 on paper 0: [count, 1, side, side]."""
        each = zip(self.font, self.digit, self.height, self.across, self.down, strict=True)
        made = [
            glyph(self.fonts[font], DIGITS[digit], side, float(height), (float(across), float(down)))
            for font, digit, height, across, down in each
        ]
        return torch.from_numpy(np.stack(made))[:, None]


def drawn(count: int, fonts: tuple[str, ...], generator: torch.Generator) -> Drawings:
    """`count` drawings: font, digit, height and place are uniform and independent. ValueError for less than one."""
    if count < 1:
        raise ValueError(f"count = {count} drawings; give at least 1")
    font = torch.randint(len(fonts), (count,), generator=generator)
    digit = torch.randint(len(DIGITS), (count,), generator=generator)
    height, across, down = torch.rand(3, count, generator=generator)
    return Drawings(fonts, font, digit, SMALLEST + (LARGEST - SMALLEST) * height, across, down)


def glyph(
    font: str, character: str, side: int, height: float, place: tuple[float, float] = (0.5, 0.5)
) -> Float[np.ndarray, "side side"]:
    """One character, `height` x `side` pixels high, at (across, down) between the edges that it can touch.

    A character that would be wider than the picture is made as wide. ValueError for a font that there is not, one that
    lacks the character, and a picture of less than 4 pixels.
    """
    if side < 4:
        raise ValueError(f"side = {side} pixels; a glyph needs at least 4")
    face = _face(font)
    if not face.get_char_index(ord(character)):
        raise ValueError(f"font {font!r} has no glyph for {character!r}; use one of {', '.join(TRAINING)}")
    wide, high, edge = *_extent(font, character), FINE * side
    ink = _inked(face, character, FULL * min(height * edge / high, edge / wide))
    ink = ink[:edge, :edge]  # whole pixels: a line of ink may stand over the edge
    top, left = (round(share * (edge - n)) for share, n in zip(reversed(place), ink.shape, strict=True))
    page = np.zeros((edge, edge), dtype=np.float32)
    page[top : top + ink.shape[0], left : left + ink.shape[1]] = ink / np.float32(255)
    return page.reshape(side, FINE, side, FINE).mean((1, 3))


@cache
def _face(font: str) -> FT2Font:
    path = Path(get_data_path()) / "fonts" / "ttf" / f"{font}.ttf"
    if not path.exists():
        raise ValueError(f"no font {font!r} comes with matplotlib; use one of {', '.join((*TRAINING, *TEST))}")
    return FT2Font(str(path))


@cache
def _extent(font: str, character: str) -> tuple[float, float]:
    """Width and height in pixels at FULL points."""
    high, wide = _inked(_face(font), character, FULL).shape
    return float(wide), float(high)


def _inked(face: FT2Font, character: str, points: float) -> np.ndarray:
    """The pixels of a character without the empty lines around it."""
    face.set_size(points, 72)
    face.set_text(character, flags=LoadFlags.NO_HINTING)  # hints would draw another shape at every resolution
    face.draw_glyphs_to_bitmap(antialiased=True)
    image = np.asarray(face.get_image())
    rows, columns = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
    return image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


class Glyphs(Pictures):
    """Digits of the fonts in TRAINING, and of those in TEST for the test."""

    classes = len(DIGITS)

    def training(self, count: int, side: int, generator: torch.Generator) -> tuple[Images, Labels]:
        made = drawn(count, TRAINING, generator)
        return made.at(side), made.digit

    def test(self, count: int, side: int, seed: int) -> tuple[Images, Labels]:
        made = drawn(count, TEST, runtime.generator(seed, "glyphs/test"))
        return made.at(side), made.digit
