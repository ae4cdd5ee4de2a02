"""The smallest profile on a few lines of local text, for experiments that train language models."""

import numpy as np
import pytest

from attention_priors import config


@pytest.fixture(scope="session")
def prose(tmp_path_factory):
    """Ten documents of 400 words each."""
    folder = tmp_path_factory.mktemp("text")
    rng = np.random.default_rng(1)
    for name in "abcdefghij":
        words = rng.choice(["red", "green", "blue", "one", "two", "sees", "and"], 400)
        (folder / f"{name}.txt").write_text(" ".join(words), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Where corpora are packed, once."""
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture
def small(prose):
    """The smoke profile on that text: one seed, one document, two steps, three encodings of which two are trained."""
    smoke = config.profile("smoke")
    changes = {
        "corpus": f"text:{prose}",
        "domains": ("text",),
        "vocabulary": 300,
        "lengths": (16, 32, 64),
        "scored": 8,
        "encodings": ("rope", "rope-local", "alibi"),
        "documents": 1,
        "more_steps": {},
        "pairs": 4,
        "recipe": smoke.language.recipe.model_copy(update={"length": 16, "steps": 2}),
    }
    language = smoke.language.model_copy(update=changes)
    return smoke.model_copy(update={"language": language, "seeds": (0,), "main_seeds": (0,), "workers": 1})
