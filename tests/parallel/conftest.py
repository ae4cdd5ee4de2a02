"""Every kind of model that is read in chunks, and tokens for it."""

import pytest
import torch

from attention_priors.parallel import open_reader
from parallel.tiny import ENCODINGS, FAMILIES, VOCABULARY, ours, theirs


@pytest.fixture(params=[*ENCODINGS, *FAMILIES])
def model(request):
    """Every kind that is read."""
    return theirs(request.param) if request.param in FAMILIES else ours(request.param)


@pytest.fixture
def reader(model):
    return open_reader(model)


@pytest.fixture
def tokens():
    generator = torch.Generator().manual_seed(3)
    return lambda count: torch.randint(VOCABULARY, (count,), generator=generator)
