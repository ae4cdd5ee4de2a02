"""What the figures of resolution share: a notebook, and a look for every row of GRIDS."""

from typing import Any

from attention_priors.experiments.arms import UNTRAINED
from attention_priors.figures import style
from attention_priors.positions.grids import GRIDS

NOTEBOOK = "genomes_and_images"
# colour, dashes, marker; Goat's ladders share a colour
LOOKS: dict[str, tuple[str, tuple, str]] = {
    "nope-2d": (style.DARK, (1, 1), "X"),
    "learned-2d": (style.BLUE, (5, 1.5), "s"),
    "sinusoidal-2d": (style.PINK, (2, 1, 1, 1), "D"),
    "rope-2d": (style.GREEN, (3, 1), "^"),
    "goat-2d": (style.RED, style.SOLID, "*"),
    "goat-2d-wide": (style.lighten(style.RED, 0.25), (6, 1, 1, 1), "P"),
    "goat-2d-split": (style.lighten(style.RED, 0.45), (4, 2), "d"),
    "goat-2d-round": (style.darken(style.RED, 0.35), (2, 2), "o"),
}


def drawn(name: str) -> dict[str, Any]:
    """Colour, dashes, marker and label."""
    if name == UNTRAINED:
        return dict(style.CONTROLS[UNTRAINED])
    color, dashes, marker = LOOKS[name]
    return {"color": color, "dashes": dashes, "marker": marker, "label": GRIDS[name].label}


def label(name: str) -> str:
    return drawn(name)["label"]
