"""What the figures of genomes share: a notebook, and a look for every row."""

from typing import Any

from attention_priors.figures import style
from attention_priors.figures.methods import look

NOTEBOOK = "genomes_and_images"
BEGINNING = "beginning"  # the row of correlations that needs no model


def drawn(name: str) -> dict[str, Any]:
    """Colour, marker and label."""
    if name == BEGINNING:
        return {"color": style.DARK, "marker": "|", "label": "the beginning's own"}
    own = look(name)
    return {"color": own["color"], "marker": own["marker"], "label": own["label"]}
