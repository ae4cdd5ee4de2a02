"""Every kind of model that is read in chunks, and tokens for it."""

from collections.abc import Callable

import pytest
import torch

from attention_priors.parallel import Reader, open_reader
from parallel.tiny import ENCODINGS, FAMILIES, VOCABULARY, ours, theirs


@pytest.fixture(params=[*ENCODINGS, *FAMILIES])
def model(request: pytest.FixtureRequest) -> torch.nn.Module:
    """Every kind that is read."""
    return theirs(request.param) if request.param in FAMILIES else ours(request.param)


@pytest.fixture
def reader(model: torch.nn.Module) -> Reader:
    return open_reader(model)


@pytest.fixture
def tokens() -> Callable[[int], torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return lambda count: torch.randint(VOCABULARY, (count,), generator=generator)
