"""What a reader's file registers does not outlive its test."""

import pytest

from attention_priors.positions.encodings import ENCODINGS


@pytest.fixture(autouse=True)
def unchanged():
    """ENCODINGS as it was before."""
    before = set(ENCODINGS)
    yield
    for name in set(ENCODINGS) - before:
        del ENCODINGS[name]
