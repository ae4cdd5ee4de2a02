"""Where an encoding rotates, in words, and the colour and marker that stand for it."""

from attention_priors.figures import style
from attention_priors.positions.encodings import encoding, still

NOTEBOOK = "dividing_the_work"
ACROSS = 5  # panels in a row
# kind: colour, marker
KINDS = {
    "no head": (style.ORANGE, "o"),
    "all heads": (style.GREEN, "^"),
    "some layers": (style.BLUE, "s"),
    "layers, with a window": (style.TEAL, "P"),
    "half of the heads": (style.PINK, "D"),
    "half, with a window": (style.SKY, "v"),
    "a window on half, no rotation": (style.RED, "x"),
}
EDGES = "no head", "all heads"  # where all the copying is on one kind of head, whatever training does


def kind(name: str) -> str:
    """Which heads an encoding rotates: a row of KINDS."""
    row = encoding(name)
    if row.rotary is None:
        return "no head"
    if row.rotary is still:
        return "a window on half, no rotation"
    if row.rotated_layers:
        return "layers, with a window" if row.window else "some layers"
    if row.rotated_heads == 1:
        return "all heads"
    return "half, with a window" if row.window else "half of the heads"
