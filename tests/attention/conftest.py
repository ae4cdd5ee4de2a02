"""Sizes of the blocks of backend "sdpa", which a test may set, are as they were afterwards."""

import pytest

from attention_priors.attention import sdpa


@pytest.fixture(autouse=True)
def sizes_of_blocks():
    constants = vars(sdpa)
    kept = {name: constants[name] for name in constants if name.endswith(("_QUERIES", "_KEYS")) or name == "WHOLE"}
    yield
    constants.update(kept)
