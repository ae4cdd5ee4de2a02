"""A tokenizer of words for needle prompts: small enough for models that are trained in a minute.

A token is a word, a digit, a capital letter of a variable, two hexadecimal digits of a uuid, or a punctuation mark;
blanks and line breaks are none. Every word of the prompts and of the keys has its own id, prose its most frequent ones;
all other words are <unk>, as in word-level language models.
"""

from __future__ import annotations

import functools
import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

from . import needles
from .needle_source import Source, Widest
from .needle_text import LESSONS, NOISE, TASKS
from .needle_words import ADJECTIVES, NOUNS

UNKNOWN = "<unk>"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_VARIABLE = r"(?<![A-Za-z])[A-Z]{5}(?![A-Za-z])"
_PIECES = rf"({_UUID})|({_VARIABLE})|[A-Za-z]+|[^A-Za-z\s]"
_PAIRS = "[0-9a-f]{2}|-"


def split(text: str) -> list[str]:
    """The tokens of a text as strings."""
    found = []
    for piece in re.finditer(_PIECES, text):
        uuid, variable = piece.groups()
        found += re.findall(_PAIRS, uuid) if uuid else variable or [piece.group()]
    return found


class Words:
    """The tokenizer: ids of the fixed tokens first, then prose's words from the most frequent one, `size` in all.

    ValueError if `size` has no room for the fixed tokens.
    """

    def __init__(self, prose: Iterable[str], size: int) -> None:
        fixed = [UNKNOWN, *sorted(_fixed())]
        if size < len(fixed):
            raise ValueError(f"vocabulary = {size} is too small: the words of needle prompts alone take {len(fixed)}")
        counts = Counter(token for sentence in prose for token in split(sentence))
        ranked = sorted(set(counts) - set(fixed), key=lambda token: (-counts[token], token))
        self.tokens = (fixed + ranked)[:size]
        self.ids = {token: number for number, token in enumerate(self.tokens)}

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(token, 0) for token in split(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The tokens with blanks between them: enough to read a prompt, not the text that it was made from."""
        return " ".join(self.tokens[int(number)] for number in ids)


@functools.lru_cache(maxsize=64)
def fewest(task: str) -> int:
    """The smallest length of a task's prompts in these tokens, answers included. ValueError for an unknown task."""
    return needles.shortest(task, Source(_Splitter()))


def _fixed() -> set[str]:
    """All that needles, questions and answers of any task can be made of."""
    found = {*string.digits, *string.ascii_uppercase, *split(NOISE), *ADJECTIVES, *NOUNS}
    found |= {f"{number:02x}" for number in range(256)}
    source = Source(_Splitter())
    for task in (*TASKS.values(), *LESSONS.values()):
        content = task.content(Widest(source))
        for pieces in (content.description, *content.needles, content.question, (",",)):
            found.update(token for piece in pieces for token in split(piece))
    return found


class _Splitter:
    """Tokens as strings: for `Source`, which only counts them."""

    def encode(self, text: str) -> Sequence[str]:
        return split(text)
