"""The protocol on broken generators and scorings."""

import contextlib

import pytest
import torch

from attention_priors.checks import CHECKS
from attention_priors.checks.passkey import protocol
from attention_priors.tasks import passkey


def test_the_protocol_is_verified():
    verdict = CHECKS["BAM-D7"].verdict("theory")
    assert verdict.verdict == "verified" and len(verdict.sentences) == 6


@pytest.mark.parametrize("name", ["KEY_SENTENCE", "QUESTION", "DESCRIPTION"])
def test_a_generator_with_other_counts_is_found(name, monkeypatch):
    monkeypatch.setattr(passkey, name, getattr(passkey, name).replace(" the ", " the the ", 1))
    with contextlib.suppress(ValueError, RuntimeError):  # parts that do not fit together any more
        assert any(protocol.tokens_of(part) != count for part, count in protocol.PRINTED.items())


def test_the_key_stands_in_the_middle_of_two_fillers():
    assert [protocol.depth(sample, 19) for sample in (0, 1, 19)] == [0, 1, 19]


def test_scores_that_forgive_are_found():
    assert protocol.accepted(0, 0, 1) == (True, False)  # every answer is right if no digit is needed
    assert protocol.accepted(6, 0, 0) == (False, True)  # and none if six of five are
    assert protocol.all_right(protocol.tiny_model(), torch.zeros(90, dtype=torch.long), needed=0)
