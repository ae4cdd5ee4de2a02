"""Margins against hand calculations, the posterior itself, and bad input."""

import numpy as np
import pytest

from attention_priors.theory.inference import posterior, softmax
from attention_priors.theory.margins import chunk_prior, margin
from refusals import refused


def test_one_of_n_equal_keys_needs_ln_n_minus_1():
    assert margin([0.5, 0.1]) == pytest.approx([0.0, np.log(9)])


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.99])
def test_the_margin_gives_the_weight(weight):
    prior = softmax(np.array([0.3, -1.0, 2.0, 0.0]))
    for key, lead in enumerate(margin(prior, weight)):
        assert posterior(np.where(np.arange(4) == key, lead, 0.0), prior)[key] == pytest.approx(weight)


def test_chunks_share_the_prior():
    assert chunk_prior([0.75, 0.25], 2) == pytest.approx([0.375, 0.125, 0.375, 0.125])
    assert chunk_prior([0.75, 0.25], 1) == pytest.approx([0.75, 0.25])


MISSING = "strictly between 0 and 1"
test_what_has_no_margin = refused(
    (lambda: margin(0.0), MISSING),
    (lambda: margin(1.0), MISSING),
    (lambda: margin(0.5, 1.0), MISSING),
    (lambda: chunk_prior([1.0], 0), "chunks = 0"),
)
