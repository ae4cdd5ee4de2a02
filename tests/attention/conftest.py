"""Blocks of backend "sdpa" are as they were."""

import pytest

from attention_priors.attention import sdpa


@pytest.fixture(autouse=True)
def blocks():
    """A test may set the sizes of its blocks."""
    constants = vars(sdpa)
    kept = {name: constants[name] for name in constants if name.endswith(("_QUERIES", "_KEYS")) or name == "WHOLE"}
    yield
    constants.update(kept)
