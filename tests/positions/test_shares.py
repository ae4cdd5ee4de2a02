"""Parts of a prior: what some of its heads say, with the parameters of the whole."""

import pytest
import torch

from attention_priors.positions.encodings import ENCODINGS, encoding
from attention_priors.positions.priors import share

LAGS = torch.arange(-3, 40)
PRIORS = [name for name, row in ENCODINGS.items() if row.prior and not row.rotary]


@pytest.mark.parametrize("name", PRIORS)
def test_a_share_is_rows_of_the_whole(name):
    whole = encoding(name).prior(4)
    for start, stop in ((0, 2), (2, 4), (1, 2), (0, 4)):
        part, keys = share(whole, start, stop), torch.arange(9)
        assert part.heads == stop - start
        for found, expected in ((part.table(LAGS), whole.table(LAGS)), (part.of_keys(keys, 9), whole.of_keys(keys, 9))):
            assert (found is None) == (expected is None)
            assert found is None or torch.equal(found, expected[start:stop])
        for own, all_ in zip(part.split()[0], whole.split()[0], strict=True):
            assert (own.power() is None) == (all_.power() is None)
            assert own.power() is None or own.power()[3:] == all_.power()[3:]
        assert {id(p) for p in part.parameters()} == {id(p) for p in whole.parameters()}


def test_refuses_heads_that_are_none():
    with pytest.raises(ValueError, match=r"heads 2 to 5 of 4; give 0 <= start < stop <= 4"):
        share(encoding("bam").prior(4), 2, 5)
