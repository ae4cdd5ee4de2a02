"""What a needle prompt says, read from its text alone: the reader knows the sentences, not how they were drawn."""

from __future__ import annotations

import re
from typing import Any

from .needle_text import NOISE
from .needle_tokens import split

_PAIRS = " ".join(["[0-9a-f]{2}"] * 2)
KINDS = {
    "words": "[a-z]+ - [a-z]+",
    "numbers": r"\d(?: \d){6}",
    "uuids": f"{_PAIRS} {_PAIRS} - {_PAIRS} - {_PAIRS} - {_PAIRS} - {_PAIRS} {_PAIRS} {_PAIRS}",
}
_STRING = "|".join(KINDS.values())
NEEDLE = rf"One of the special magic (words|numbers|uuids) for ({_STRING}) is : ({_STRING}) \."
QUESTION = r"Which special magic \w+ does the text give for (.+) \? The special magic \w+ for \1 in this text \w+ :"
BEGINNING = ("One", "of", "the", "special", "magic")


def reading(text: str) -> dict[str, Any]:
    """Of a prompt as `needle_tokens.Words` decodes it: how long, which haystack, what needles, what is asked.

    `keys` counts the different keys, `values` the values of a key asked for (the most), `queries` the keys asked for.
    `key` and `value` are kinds, "mixed" where there are several. `stated`: the answers are the values of the keys as
    asked, each key's in the order of the text. ValueError for a text that asks nothing.
    """
    found = re.search(QUESTION, text)
    if not found:
        raise ValueError(f"the prompt has no question: {text[-200:]!r}")
    _, _, body = text[: found.start()].partition("in mind . ")
    needles = re.findall(NEEDLE, body)
    asked = re.split(" , and | , ", found.group(1))
    answers = text[found.end() :].strip().split(" , ")
    of_key = {key: [value for _, stated, value in needles if stated == key] for key in asked}
    return {
        "tokens": len(text.split()),
        "haystack": _haystack(re.sub(NEEDLE, "", body).split()),
        "key": _kind({key for _, key, _ in needles}),
        "value": _kind({value for *_, value in needles}),
        "keys": len({key for _, key, _ in needles}),
        "values": max(map(len, of_key.values())),
        "queries": len(asked),
        "stated": answers == [value for key in asked for value in of_key[key]],
    }


def _haystack(rest: list[str]) -> str:
    """What is left beside whole needles: lines of noise, nothing but the beginning of a needle, or prose."""
    noise = split(NOISE)
    if rest and rest == (noise * (len(rest) // len(noise) + 1))[: len(rest)]:
        return "noise"
    begins = all(word == known for word, known in zip(rest, BEGINNING, strict=False))
    return "needles" if not rest or (begins and "." not in rest) else "prose"


def _kind(strings: set[str]) -> str:
    kinds = {name for name, form in KINDS.items() for string in strings if re.fullmatch(form, string)}
    return kinds.pop() if len(kinds) == 1 else "mixed"
