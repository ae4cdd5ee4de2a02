"""Runs on one thread."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Sums in another order would not be bitwise equal."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
