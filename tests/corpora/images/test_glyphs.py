"""Digits from fonts: the same drawing at every resolution, fonts that training does not see, what is refused."""

import numpy as np
import pytest
import torch

from attention_priors import runtime
from attention_priors.corpora.images import pictures
from attention_priors.corpora.images.glyphs import DIGITS, LARGEST, SMALLEST, TEST, TRAINING, drawn, glyph
from refusals import refused


def test_fonts_are_split():
    assert not set(TRAINING) & set(TEST) and len(TRAINING) == 15 and len(TEST) == 6


@pytest.mark.parametrize("font", [*TRAINING, *TEST])
def test_every_font_has_ten_different_digits(font):
    made = [glyph(font, digit, 32, 0.8) for digit in DIGITS]
    for k, page in enumerate(made):
        assert page.shape == (32, 32) and page.min() >= 0 and page.max() > 0.9
        assert all(np.abs(page - other).sum() > 10 for other in made[:k])


def test_a_finer_picture_is_the_same_picture():
    made = drawn(40, TEST, runtime.generator(7, "test"))
    coarse, fine = made.at(32), made.at(96)
    assert coarse.shape == (40, 1, 32, 32) and fine.shape == (40, 1, 96, 96)
    shrunk = torch.nn.functional.avg_pool2d(fine, 3)
    each = torch.nn.functional.cosine_similarity(coarse.flatten(1), shrunk.flatten(1))
    other = torch.nn.functional.cosine_similarity(coarse.flatten(1), shrunk.roll(1, 0).flatten(1))
    assert each.min() > 0.95 > 0.5 > other.mean()


@pytest.mark.parametrize("side", [16, 33, 64, 96])
def test_a_digit_is_as_high_as_asked_and_stands_where_asked(side):
    for height in (SMALLEST, 0.7, LARGEST):
        rows, columns = np.nonzero(glyph("DejaVuSans", "8", side, height, (0.0, 1.0)))
        assert abs(np.ptp(rows) + 1 - height * side) <= 1.5 and columns.min() == 0 and rows.max() == side - 1
    wide = np.nonzero(glyph("DejaVuSans-Bold", "W", side, 1.0))[1]
    assert np.ptp(wide) + 1 <= side, "as wide as the picture, and no wider"


def test_the_seed_determines_pictures_and_resolutions_share_them():
    source = pictures("glyphs", None)
    images, labels = source.test(20, 32, 3)
    again, same = source.test(20, 32, 3)
    assert torch.equal(images, again) and torch.equal(labels, same)
    assert torch.equal(source.test(20, 64, 3)[1], labels) and not torch.equal(source.test(20, 32, 4)[0], images)
    first, second = (source.training(20, 32, torch.Generator().manual_seed(5))[0] for _ in range(2))
    assert torch.equal(first, second)


test_bad_input = refused(
    (lambda: glyph("Comic", "1", 32, 0.8), "'Comic'", "use one of DejaVuSans"),
    (lambda: glyph("STIXSizOneSymReg", "7", 32, 0.8), "'STIXSizOneSymReg' has no glyph for '7'", "use one of"),
    (lambda: glyph("DejaVuSans", "7", 3, 0.8), "side = 3", "at least 4"),
    (lambda: drawn(0, TEST, torch.Generator()), "count = 0", "at least 1"),
    (lambda: pictures("glyph", None), "'glyph'", "use 'glyphs'"),
    (lambda: pictures("folder:", None), "'folder:'", "folder:<folder>"),
    (lambda: pictures("glyphs:bold", None), "'glyphs:bold'", "use 'glyphs'"),
)
