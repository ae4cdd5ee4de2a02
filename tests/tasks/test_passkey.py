"""The passkey generator: counts, places, the two forms, and what it refuses."""

import pytest
import torch

from attention_priors import runtime
from attention_priors.config import Varied
from attention_priors.tasks import passkey
from refusals import refused


def draw(length, depths=(0.0, 0.5, 1.0), form="plain", name="test"):
    return passkey.prompts(length, torch.tensor(depths).double(), runtime.generator(0, name), form)


def words(row):
    return passkey.decode(row).split()


def test_the_printed_counts():
    assert len(passkey.DESCRIPTION.split()) == passkey.DESCRIPTION_TOKENS == 32
    assert len(passkey.QUESTION.split()) == passkey.QUESTION_TOKENS == 16
    assert len(passkey._encode(passkey.KEY_SENTENCE)) == passkey.KEY_TOKENS == 25
    row = words(draw(841 + passkey.DIGITS - 1).tokens[0])
    assert len(row) == 841 + passkey.DIGITS
    assert row[841 - 4 : 841] == ["the", "passkey", "is", ":"]


@pytest.mark.parametrize("form", ["plain", "hard"])
@pytest.mark.parametrize("length", [passkey.SHORTEST, passkey.SHORTEST + 1, 128, 1000])
def test_every_part_stands_where_it_should(length, form):
    drawn = draw(length, form=form)
    assert drawn.tokens.shape == (3, length + 1) and int(drawn.tokens.min()) >= 0
    filler = length - passkey.SHORTEST
    for row, depth, start in zip(drawn.tokens, drawn.depths.tolist(), drawn.starts.tolist(), strict=True):
        text = words(row)
        key = text[start : start + passkey.KEY_TOKENS]
        assert text[: passkey.DESCRIPTION_TOKENS] == passkey.DESCRIPTION.split()
        assert start == passkey.DESCRIPTION_TOKENS + round(depth * filler)
        assert key[:3] == ["the", "passkey", "is"] and key[3:8] == key[13:18] == text[-passkey.DIGITS :]
        assert text[-21:-5] == passkey.QUESTION.split()


@pytest.mark.parametrize("form", ["plain", "hard"])
def test_without_its_key_the_filler_is_untouched(form):
    first, last = draw(300, (0.0,), form).tokens[0], draw(300, (1.0,), form).tokens[0]
    cut, rest = passkey.DESCRIPTION_TOKENS, passkey.KEY_TOKENS
    end = 300 - passkey.QUESTION_TOKENS - passkey.DIGITS + 1
    assert torch.equal(first[cut + rest : end], last[cut : end - rest])


def test_only_the_hard_form_has_other_digits():
    plain, hard = (words(draw(400, (0.5,), form).tokens[0]) for form in ("plain", "hard"))
    digits = [sum(word.isdigit() for word in text) for text in (plain, hard)]
    assert digits[0] == 3 * passkey.DIGITS and digits[1] > digits[0] + 10


def test_keys_are_drawn_evenly():
    tokens, _ = passkey.training_batch(passkey.SHORTEST, 2000, runtime.generator(0, "even"))
    counts = torch.bincount(tokens[:, -passkey.DIGITS :].flatten(), minlength=10)
    assert len(counts) == 10
    assert (counts - 1000).abs().max() < 5 * 30  # five standard deviations


def test_a_generator_determines_the_prompts():
    assert torch.equal(draw(200, form="hard").tokens, draw(200, form="hard").tokens)
    assert not torch.equal(draw(200).tokens, draw(200, name="other").tokens)


def test_equidistant_depths():
    assert passkey.equidistant(20).tolist() == pytest.approx([k / 19 for k in range(20)])
    assert passkey.equidistant(1).tolist() == [0.5]


def test_a_training_batch_marks_what_can_be_looked_up():
    tokens, marked = passkey.training_batch(128, 4, runtime.generator(0, "batch"))
    assert tokens.shape == (4, 129) and marked.shape == (4, 128)
    for row, mask in zip(tokens, marked, strict=True):
        targets = words(row[1:][mask])  # the key's second mention, then the answer
        assert targets == words(row[-passkey.DIGITS :]) * 2 and bool(mask[-passkey.DIGITS :].all())
        places = mask.nonzero().flatten().tolist()
        before = words(row[: places[0] + 1])  # what is read when the first marked digit is asked for
        assert before[-4:] == ["please", "remember", "it", "."]


test_bad_input_is_refused_in_one_line = refused(
    (lambda: draw(passkey.SHORTEST - 1), "at least 77 tokens"),
    (lambda: draw(128, form="harder"), "'plain' or 'hard'"),
    (lambda: draw(128, (1.5,)), "between 0 and 1"),
    (lambda: draw(128, ()), "non-empty"),
)


def varied(batch=200, length=128, form="plain", **changes):
    how = Varied(**{"shortest": 80, "cut": 0.5, "keyless": 0.25} | changes)
    return passkey.training_batch(length, batch, runtime.generator(0, "varied"), form, how)


@pytest.mark.parametrize("form", ["plain", "hard"])
def test_varied_texts_begin_anywhere_in_the_description_and_answer_what_they_hold(form):
    tokens, answer = varied(form=form)
    begins = set()
    for row, mask in zip(tokens, answer, strict=True):
        text = words(row)
        cut = next(c for c in range(33) if text[: 32 - c] == passkey.DESCRIPTION.split()[c:])
        begins.add(cut)
        if not mask.any():
            assert "remember" not in text[32 - cut :] and "?" not in text
            continue
        assert text[-21:-5] == passkey.QUESTION.split()
        assert [text[1:][i] for i in mask.nonzero().flatten().tolist()] == 2 * text[-5:]
    assert 0 in begins and len(begins) > 20
    assert 0.15 < (~answer.any(1)).float().mean() < 0.35


def test_the_lengths_of_varied_batches_cover_their_range():
    how = Varied(shortest=100, cut=0.0, keyless=0.0)
    lengths = {
        passkey.training_batch(104, 2, runtime.generator(0, str(i)), "plain", how)[0].shape[1] - 1 for i in range(60)
    }
    assert lengths == {100, 101, 102, 103, 104}
