"""What needles are hidden with: a tokenizer, prose, and random strings that are known to fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import torch

from attention_priors.corpora import packing

from .needle_words import KINDS, probes

SENTENCES = 20_000  # of a corpus: about half a million tokens before they repeat
SHORTEST, LONGEST = 5, 60  # words of a sentence of prose
TRIES = 1000  # draws before a kind of string counts as used up
REMEMBERED = 4096  # encoded pieces; the pieces of all templates and most words

# A capital, then words and the punctuation of prose: no markup, formulas or code, of which docstrings are full.
_PROSE = re.compile(r"(?!.*--)[A-Z][A-Za-z0-9 ,;:'()\"-]*[.!?]")
_HEADING = re.compile(r"^.*\n[ \t]*[-=~^*]{3,}[ \t]*$", re.MULTILINE)
_BOUNDARY = re.compile(r"(?<=[.!?]) (?=[A-Z])")


class Encoder(Protocol):
    """Any tokenizer that turns text into ids, adds no special tokens, and gives the same ids at every call."""

    def encode(self, text: str) -> Sequence[int]: ...


class Source:
    """A tokenizer and the prose to hide needles in, encoded once for any number of prompts.

    prose: a text, of which the sentences of plain prose are taken, or sentences, which are taken as they are; tasks
    without prose need none. Text is encoded in pieces that begin with their space or line break, so that a key or a
    value is the same tokens wherever it stands. ValueError where `tokenizer` adds special tokens.
    """

    def __init__(self, tokenizer: Encoder, prose: str | Iterable[str] = ()):
        if added := list(tokenizer.encode("")):
            raise ValueError(f"the tokenizer adds the special tokens {added} to a text: give one that adds none")
        self.encode = lru_cache(REMEMBERED)(lambda text: tuple(tokenizer.encode(text)))
        kept = sentences(prose) if isinstance(prose, str) else [" ".join(sentence.split()) for sentence in prose]
        encoded = (tuple(tokenizer.encode(f" {sentence}")) for sentence in kept if sentence)
        self.prose = [ids for ids in encoded if ids]
        self._widest: dict[str, str] = {}

    def join(self, pieces: Iterable[str]) -> list[int]:
        """The ids of the pieces, one after another."""
        return [token for piece in pieces for token in self.encode(piece)]

    def width(self, string: str) -> int:
        """Tokens of a key or a value behind its space."""
        return len(self.encode(f" {string}"))

    def widest(self, kind: str) -> str:
        """The string of a kind that takes most tokens; `Draws` draws none that takes more."""
        if kind not in self._widest:
            self._widest[kind] = max(probes(kind, self.width), key=self.width)
        return self._widest[kind]


class Draws:
    """The random strings and orders of one sample."""

    def __init__(self, source: Source, generator: torch.Generator):
        self.source, self.generator = source, generator
        self.taken: set[str] = set()

    def fresh(self, kind: str) -> str:
        """A string that no earlier call of `fresh` gave."""
        string = self.other(kind)
        self.taken.add(string)
        return string

    def other(self, kind: str) -> str:
        """A string that `fresh` has not given; a later call of either may give it again."""
        most = self.source.width(self.source.widest(kind))
        for _ in range(TRIES):
            string = KINDS[kind](self.generator)
            if string not in self.taken and self.source.width(string) <= most:
                return string
        raise ValueError(f"{len(self.taken)} strings are in use and no other {kind} were found: use numbers or uuids")

    def order(self, count: int) -> list[int]:
        """The numbers below `count`, shuffled."""
        return torch.randperm(count, generator=self.generator).tolist()


class Widest:
    """Stands in for `Draws` to find the most tokens that a sample can take."""

    def __init__(self, source: Source):
        self.fresh = self.other = source.widest

    def order(self, count: int) -> list[int]:
        return list(range(count))


def sentences(text: str) -> list[str]:
    """The sentences of plain prose in a text, in order, each on one line.

    Headings, tables, formulas and code are left out, and sentences that are not on 5 to 60 words.
    """
    paragraphs = (" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", _HEADING.sub("\n", text)))
    found = (sentence for paragraph in paragraphs for sentence in _BOUNDARY.split(paragraph))
    return [s for s in found if SHORTEST <= len(s.split()) <= LONGEST and _PROSE.fullmatch(s)]


def corpus_prose(
    corpus: packing.PackedCorpus, split: str, domain: str | None = None, limit: int = SENTENCES
) -> list[str]:
    """At most `limit` sentences of prose from the documents of a part, whole documents in a fixed random order.

    ValueError if the part is unknown (`PackedCorpus.documents`) or has no prose.
    """
    numbers = corpus.documents(split, domain)
    found: list[str] = []
    for index in torch.randperm(len(numbers), generator=torch.Generator().manual_seed(0)).tolist():
        found += sentences(corpus.tokenizer.decode(corpus.document(numbers[index])))
        if len(found) >= limit:
            break
    if not found:
        raise ValueError(f"corpus {corpus.meta['corpus']!r} has no sentence of prose in {split}: take another part")
    return found[:limit]
