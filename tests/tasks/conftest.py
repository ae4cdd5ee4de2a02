"""A tokenizer of bytes and one of words, and prose, for the tests of needles."""

import re

import pytest

from attention_priors import runtime
from attention_priors.corpora import tokenizer
from attention_priors.tasks import needles
from attention_priors.tasks.needle_source import Source
from attention_priors.tasks.needle_text import NOISE

PROSE = [
    f"{name} {verb} the {thing} of the old house in {place}."
    for name in ("Anna", "Boris", "Clara", "David", "Edith")
    for verb, thing in (("paints", "door"), ("repairs", "roof"), ("sells", "garden"), ("draws", "kitchen"))
    for place in ("spring", "summer", "autumn")
]


class Words:
    """A tokenizer of another family: a token is a word with the blanks before it, or one of `.,?`."""

    def __init__(self, special=()):
        self.special, self.ids, self.texts = list(special), {}, {}

    def encode(self, text):
        ids = [self.ids.setdefault(word, len(self.ids) + 10) for word in re.findall(r"\s*[^\s.,?]+|[.,?]", text)]
        self.texts |= {number: word for word, number in self.ids.items()}
        return self.special + ids

    def decode(self, ids):
        return "".join(self.texts[int(i)] for i in ids)


@pytest.fixture(scope="session")
def prose():
    return PROSE


@pytest.fixture(scope="session")
def word_tokenizer():
    """Makes tokenizers of words, which may add special tokens."""
    return Words


@pytest.fixture(scope="session")
def tokenizers():
    return {"bytes": tokenizer.train([*PROSE, NOISE, "One of the special magic numbers"] * 3, 400), "words": Words()}


@pytest.fixture(scope="session")
def sources(tokenizers):
    return {name: Source(made, PROSE) for name, made in tokenizers.items()}


@pytest.fixture(scope="session")
def source(sources):
    return sources["bytes"]


@pytest.fixture(scope="session")
def decode(tokenizers):
    return tokenizers["bytes"].decode


@pytest.fixture(scope="session")
def draw():
    """Prompts of a task, for the seed called `name`."""

    def drawn(task, length, source, samples=3, name="test"):
        return needles.prompts(task, length, samples, runtime.generator(0, name), source)

    return drawn
