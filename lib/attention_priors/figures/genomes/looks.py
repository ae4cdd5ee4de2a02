"""What the figures of genomes share: a notebook, and a look for every row."""

from typing import Any

from attention_priors.figures import style
from attention_priors.figures.methods import METHODS, label, look

NOTEBOOK = "genomes_and_images"
BEGINNING = "beginning"  # the row of correlations that needs no model
# rows of Goat, one colour, a marker of their own
GOAT = {"goat-composite": "*", "goat-seeded": "P", "goat-code": "X", "goat-no-sink": "d"}
RED = "#B0122B"


def drawn(name: str) -> dict[str, Any]:
    """Colour, marker and label."""
    if name == BEGINNING:
        return {"color": style.DARK, "marker": "|", "label": "the beginning's own"}
    if name in GOAT and name not in METHODS:
        return {"color": RED, "marker": GOAT[name], "label": label(name)}
    own = look(name)
    return {"color": own["color"], "marker": own["marker"], "label": own["label"]}
