"""The rows of figures on language models: an encoding, or a second model of it that saw more tokens."""

from typing import Any

from attention_priors.figures import methods
from attention_priors.figures.spec import Frame

MISSED = " †"  # behind the name of a model that missed its gate and decides nothing
COLUMNS = ("encoding", "times", "seed")
Row = tuple[str, int]  # encoding, times as many tokens as the others


def groups(frame: Frame) -> list[tuple[Row, Frame]]:
    """The rows of each model, over seeds, in the order of the methods and otherwise of the frame."""
    ranks = {name: rank for rank, name in enumerate(methods.METHODS)}
    found = [((name, int(times)), own) for (name, times), own in frame.groupby(["encoding", "times"], sort=False)]
    return sorted(found, key=lambda each: (ranks.get(each[0][0], len(ranks)), each[0][1]))


def style_of(row: Row) -> dict[str, Any]:
    """`methods.look`; a model that saw more tokens is drawn dotted and says so."""
    name, times = row
    look = methods.look(name)
    if times == 1:
        return look
    return look | {"dashes": (1, 2), "label": f"{look['label']}, {times} × tokens"}


def named_seeds(frame: Frame) -> str:
    """`methods.named_seeds`, of the models at equal tokens."""
    return methods.named_seeds(frame[frame["times"] == 1])
