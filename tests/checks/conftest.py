"""Frames are edited so that a claim holds or fails: there the runs lack nothing."""

import pytest

from attention_priors.claims.finding import Finding


@pytest.fixture(autouse=True)
def able(request, monkeypatch):
    """Every finding can be tested, but in the tests of what cannot."""
    if request.node.get_closest_marker("beyond") is None:
        monkeypatch.setattr(Finding, "lacks", lambda self, frames: "")
