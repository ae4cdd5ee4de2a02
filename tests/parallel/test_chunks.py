"""How a text is cut, and where its rows begin."""

import itertools

import pytest
import torch

from attention_priors.parallel.chunks import Calibration, Options, chunk_size, rows, split


@pytest.mark.parametrize("length", [1, 19, 20, 21, 40, 203])
def test_chunks_cover_the_text(length):
    spans = split(length, 20)
    assert [token for start, stop in spans for token in range(start, stop)] == list(range(length))


@pytest.mark.parametrize("length", [5, 20, 21, 36, 37, 203])
def test_chunks_overlap(length):
    spans = split(length, 20, overlap=4)
    assert spans[0][0] == 0 and spans[-1][1] == length
    assert all(b[0] == a[1] - 4 for a, b in itertools.pairwise(spans))
    assert all(stop - start == 20 for start, stop in spans[:-1])
    if len(spans) > 1:  # the last chunk says something new
        assert spans[-1][1] - spans[-1][0] > 4


def test_room():
    """n = w - w_q - g - [BOS]; a text that fits is one chunk of its own length."""
    assert chunk_size(1000, 16, Options(window=128, reserve=5)) == 107
    assert chunk_size(1000, 16, Options(window=128, reserve=5, bos=1)) == 106
    assert chunk_size(107, 16, Options(window=128, reserve=5)) == chunk_size(107, 16, Options(window=None)) == 107
    assert chunk_size(30, 16, Options(window=128)) == 30


def test_rows_are_right_aligned():
    chunks, question = [torch.arange(10, 14), torch.arange(20, 22)], torch.tensor([1, 2, 3])
    made = rows(chunks, question, 4, None)
    assert made.tokens.tolist() == [[10, 11, 12, 13, 1, 2, 3], [0, 0, 20, 21, 1, 2, 3]]
    assert made.first.tolist() == [0, 2] and made.end == 4 and made.padded
    assert made.inside().sum(1).tolist() == [4, 2]
    marked = rows(chunks, question, 4, 9)
    assert marked.tokens.tolist() == [[9, 10, 11, 12, 13, 1, 2, 3], [0, 0, 9, 20, 21, 1, 2, 3]]
    assert marked.end == 5 and marked.inside().sum(1).tolist() == [4, 2] and not rows(chunks[:1], question, 4, 9).padded


def test_layers_of_a_calibration_scale_with_depth():
    """Layers 1-8 middle, 9-16 recency, 25-32 sink of 32; at four layers one each, at 32 the printed ones."""
    calibration = Calibration()
    assert [calibration.regions(layer, 4) for layer in range(4)] == [("middle",), ("recency",), (), ("sink",)]
    deep = [calibration.regions(layer, 32) for layer in range(32)]
    assert deep == [("middle",)] * 8 + [("recency",)] * 8 + [()] * 8 + [("sink",)] * 8
    assert Calibration(sink=None, middle=(1, 32), recency=None).regions(0, 1) == ("middle",)
