"""What captions and tables say in the same words: lengths, prompts, seeds, intervals."""

import math
import re
from collections.abc import Iterable

from .. import evaluation
from .spec import Frame

GOOD = 0.8  # the accuracy up to which a length counts as reached
CHANCE = f"{evaluation.CHANCE:.0e}"
REACH = f"tested length up to which accuracy never fell below {GOOD}"
# What stands behind a cell of a table.
HULL = "mean over seeds [95 % interval: hull of Student's t over seeds and of the exact binomial one over all prompts"
PRINTED = 40  # words of a caption that stand under a figure; the others are its notes
_END = re.compile(r"(?<=[.!?])(?<!\bFig\.)(?<!\bTab\.)(?<!\bEq\.)(?<!\bvs\.)(?<!\b[ei]\.[ge]\.)\s+(?=[^a-z])")


def parts(caption: str, most: int = PRINTED) -> tuple[str, str]:
    """A caption's first sentences, one at least and as many as have `most` words together, and the others."""
    sentences = _END.split(caption)
    counts = [len(" ".join(sentences[: end + 1]).split()) for end in range(len(sentences))]
    first = max(1, sum(count <= most for count in counts))
    return " ".join(sentences[:first]), " ".join(sentences[first:])


def times(length: float, trained: int) -> str:
    """A length as a multiple of the training length: 4×."""
    return f"{length / trained:.3g}×"


def tokens(length: float, trained: int) -> str:
    """4,096 tokens (32×)."""
    return f"{length:,.0f} tokens ({times(length, trained)})"


def trained_on(frame: Frame) -> int:
    """The training length of all rows."""
    return int(frame["trained"].iloc[0])


def farthest(frame: Frame, by: str = "keys") -> Frame:
    """The rows at the largest value of a column."""
    return frame[frame[by] == frame[by].max()]


def extremes(values: Iterable[int]) -> str:
    """'3', or '3–5' where they differ."""
    return "–".join(str(int(value)) for value in sorted({min(values), max(values)}))


def listed(values: Iterable) -> str:
    """The different values in order: '0, 1, 2'."""
    return ", ".join(map(str, sorted(set(values))))


def counted(seeds: Iterable[int]) -> str:
    """'1 seed', '3 seeds'."""
    number = len(set(seeds))
    return f"{number} seed{'s' if number > 1 else ''}"


def bounded(value: float, low: float, high: float, digits: int = 2) -> str:
    """'0.53 [0.20, 0.80]'; the value alone where it has no interval."""
    text = f"{value:.{digits}f}"
    return f"{text} [{low:.{digits}f}, {high:.{digits}f}]" if math.isfinite(high - low) else text


def prompts(frame: Frame) -> str:
    """How many prompts a seed was asked, of columns length and samples: '20 prompts at each ..., 5 from 8,192 on'."""
    lengths = sorted(set(frame["length"]))
    groups = {count: sorted(set(rows["length"])) for count, rows in frame.groupby("samples")}
    usual = max(groups, key=lambda count: len(groups[count]))
    rest = ""
    for count, own in groups.items():
        if count != usual:
            to_the_end = len(own) > 1 and own == lengths[-len(own) :]
            where = f"from {own[0]:,} on" if to_the_end else f"at {' and '.join(f'{n:,}' for n in own)}"
            rest += f", {count} {where}"
    return f"{usual} prompts at each length and seed{rest}"
