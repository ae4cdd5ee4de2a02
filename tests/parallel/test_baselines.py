"""Other ways to read a long text: what each sees."""

import pytest
import torch

from attention_priors.parallel import Options
from attention_priors.parallel.baselines import (
    Direct,
    Streaming,
    halves,
    last_window,
)
from parallel.tiny import ours, whole

EXACT = {"atol": 1e-5, "rtol": 0}
RELATIVE = ("nope", "rope", "rope-bias", "alibi", "bam", "bam-ssmax", "rope-bam", "half-rope-bam", "t5")


def test_the_last_window_is_the_end_of_the_text(model, reader, tokens):
    text, question = tokens(200), tokens(9)
    found = last_window(reader, text, question, Options(window=40, reserve=5))
    torch.testing.assert_close(found.feed(question), whole(model, torch.cat([text[-26:], question]))[-9:], **EXACT)


def test_halves_are_both_ends(model, reader, tokens):
    text, question = tokens(200), tokens(9)
    found = halves(reader, text, question, Options(window=39, reserve=5))
    ends = torch.cat([text[:13], text[-12:], question])
    torch.testing.assert_close(found.feed(question), whole(model, ends)[-9:], **EXACT)
    short = halves(reader, text[:20], question, Options(window=39, reserve=5))
    torch.testing.assert_close(short.feed(question), whole(model, torch.cat([text[:20], question]))[-9:], **EXACT)


def test_direct_reads_everything(tokens):
    model, text, question = ours("bam-ssmax"), tokens(200), tokens(9)
    session = Direct(model, text)
    expected = whole(model, torch.cat([text, question]))[-9:]
    found = torch.cat([session.feed(question[:4]), session.feed(question[4:])])
    torch.testing.assert_close(found, expected, **EXACT)


@pytest.mark.parametrize("encoding", RELATIVE)
def test_streaming_is_ordinary_up_to_its_window(encoding, tokens):
    model, text, question = ours(encoding), tokens(31), tokens(9)
    found = Streaming(model, text, 40).feed(question)
    torch.testing.assert_close(found, whole(model, torch.cat([text, question]))[-9:], **EXACT)


@pytest.mark.parametrize("encoding", RELATIVE)
def test_streaming_sees_sinks_and_recent_tokens(encoding, tokens):
    """With one layer a token's output depends on what it sees alone: a text of 4 sinks and the latest w - 4."""
    model, text, question = ours(encoding, layers=1), tokens(600), tokens(9)
    session = Streaming(model, text, 40)
    found, read = session.feed(question), torch.cat([text, question])
    for index in (600, 604, 608):
        seen = torch.cat([read[:4], read[index - 35 : index + 1]])
        torch.testing.assert_close(found[index - 600], whole(model, seen)[-1], **EXACT)
    assert len(session.at) == 39


@pytest.mark.parametrize("encoding", ["rope", "bam-ssmax"])
def test_streaming_may_stop_anywhere(encoding, tokens):
    model, text, question = ours(encoding), tokens(300), tokens(9)
    at_once = Streaming(model, text, 40).feed(question)
    session = Streaming(model, text, 40)
    torch.testing.assert_close(torch.cat([session.feed(one[None]) for one in question]), at_once, **EXACT)
