"""Markov chains over bases: what a sequence costs when only the last few bases count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from attention_priors.corpora.genome import BASES, CHUNK, Genome, Range, novel, starts

STRENGTHS = tuple(2.0**power for power in range(-2, 13))
HELD_OUT = 0.1  # share of the training text on which the strengths are chosen
WINDOW, WINDOWS = 256, 4096  # bases of a window of that share, and the most windows


class Markov:
    """P_k(x | c) = (n(c x) + s_k P_{k-1}(x | c')) / (n(c) + s_k), P_{-1} = 1/4: orders 0 to `order`, mixed.

    c are the last k bases, c' the last k - 1, n counts of training text. A context that was never seen leaves the
    decision to the shorter one (MacKay and Peto 1995). Each s_k is the one of STRENGTHS that reads the last tenth of
    the training text best, with the counts of the rest; then all of it is counted. Of that tenth only the windows count
    that `genome.novel` finds: with repeats among them, long contexts would be trusted that new text does not have.
    """

    def __init__(self, genome: Genome, ranges: Sequence[Range], order: int) -> None:
        """Counts of some ranges of a genome. ValueError unless 0 <= order < WINDOW and the text is long enough."""
        text = sum(count for _, count in ranges)
        if not 0 <= order < WINDOW:
            raise ValueError(f"order = {order}; use an order from 0 to {WINDOW - 1}")
        self.order = order
        border, first, held = (1 - HELD_OUT) * text, [], []
        for start, count in ranges:
            cut = int(min(max(border - sum(size for _, size in first), 0), count))
            first += [(start, cut)] if cut else []
            held += [(start + cut, count - cut)] if cut < count else []
        windows = starts(held, WINDOW, WINDOWS)
        windows = windows[novel(genome, windows, WINDOW, first)]
        if not len(windows):
            raise ValueError(f"the last tenth of {text} bases has no window of {WINDOW} that is new; give more text")
        targets = (windows[:, None] + np.arange(order, WINDOW)).reshape(-1)
        self._count(genome, first)
        self.strengths: list[float] = []
        below = np.full(len(targets), 1 / len(BASES))
        for k in range(order + 1):
            seen, all_seen = self._seen(genome, targets, k)
            tried = [(seen + s * below) / (all_seen + s) for s in STRENGTHS]
            best = int(np.argmin([-np.log(each).mean() for each in tried]))
            self.strengths.append(STRENGTHS[best])
            below = tried[best]
        self._count(genome, ranges)

    def bits(self, genome: Genome, targets: Int[np.ndarray, " targets"]) -> Float[np.ndarray, "orders targets"]:
        """-log2 P_k of the bases at these places, for every order k; `order` bases before each are read."""
        rows, below = [], np.full(len(targets), 1 / len(BASES))
        for k, strength in enumerate(self.strengths):
            seen, all_seen = self._seen(genome, targets, k)
            below = (seen + strength * below) / (all_seen + strength)
            rows.append(-np.log2(below))
        return np.stack(rows)

    def _count(self, genome: Genome, ranges: Sequence[Range]) -> None:
        """Counts of all words of order + 1 bases; those of fewer bases are their sums over the first ones."""
        size = self.order + 1
        longest = np.zeros(len(BASES) ** size, dtype=np.uint32)
        for start, count in ranges:
            for at in range(start, start + count - self.order, CHUNK):
                stop = min(at + CHUNK + self.order, start + count)
                word, times = np.unique(_words(genome.bases(at, stop - at), size), return_counts=True)
                longest[word] += times.astype(np.uint32)
        self.counts = [longest]
        for _ in range(self.order):
            self.counts.insert(0, self.counts[0].reshape(len(BASES), -1).sum(0, dtype=np.uint32))

    def _seen(self, genome: Genome, targets: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """How often each target followed its context of k bases, and how often that context was seen."""
        columns = _at(genome, targets[:, None] + np.arange(-k, 1))
        word = columns @ len(BASES) ** np.arange(k, -1, -1)
        counts = self.counts[k]
        return counts[word].astype(float), counts.reshape(-1, len(BASES)).sum(1)[word // len(BASES)].astype(float)


def _words(bases: np.ndarray, size: int) -> np.ndarray:
    """Every run of `size` bases as a number to the base 4."""
    found = np.zeros(max(0, len(bases) - size + 1), dtype=np.int64)
    for shift in range(size):
        found = len(BASES) * found + bases[shift : shift + len(found)]
    return found


def _at(genome: Genome, places: np.ndarray) -> np.ndarray:
    """Codes of the known bases at places of any shape."""
    return ((genome.packed[places // 4] >> (6 - 2 * (places % 4)).astype(np.uint8)) & 3).astype(np.int64)
