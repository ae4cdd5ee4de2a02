"""Needles and variable tracking: laws over all tasks and lengths, scores, training batches."""

import re

import pytest
import torch

from attention_priors import runtime
from attention_priors.config import Varied
from attention_priors.tasks import needles
from attention_priors.tasks.needle_text import LESSONS, TASKS

RETRIEVAL = [name for name in TASKS if name != "variable-tracking"]
STATED = re.compile(r"One of the special magic (words|numbers|uuids) for (\S+) is: (\S+)\.(?=\s)")


def asked(text):
    """The keys of a prompt's question."""
    return re.split(r", and |, ", re.search(r"does the text give for (.*)\? The", text).group(1))


# --- laws over all tasks and lengths ---


@pytest.mark.parametrize("family", ["bytes", "words"])
@pytest.mark.parametrize("task", TASKS)
def test_length_is_exact_and_counts_the_answers(task, family, sources, tokenizers, draw):
    source, decode = sources[family], tokenizers[family].decode
    shortest = needles.shortest(task, source)
    for length in (shortest, shortest + 1, shortest + 17, 700, 2048):
        drawn = draw(task, length, source)
        assert drawn.tokens.shape == drawn.answer.shape == (3, length)
        for row, start, answers in zip(drawn.tokens, drawn.starts.tolist(), drawn.answers, strict=True):
            assert decode(row[start:]) == " " + ", ".join(answers)
            assert decode(row[:start]).endswith((" is:", " are:"))
        assert drawn.longest == length - int(drawn.starts.min())


@pytest.mark.parametrize("task", RETRIEVAL)
@pytest.mark.parametrize("length", [0, 701, 2000])
def test_answers_are_all_the_values_of_the_keys_asked_for(task, length, source, decode, draw):
    row = TASKS[task]
    drawn = draw(task, max(length, needles.shortest(task, source)), source)
    for tokens, start, answers in zip(drawn.tokens, drawn.starts, drawn.answers, strict=True):
        text = decode(tokens[:start])
        stated = STATED.findall(text)
        values = [value for _, _, value in stated]
        assert len(values) == len(set(values)) and {kind for kind, *_ in stated} == {row.value}
        keys = asked(text)
        assert len(set(keys)) == len(keys) == row.queries
        assert list(answers) == [value for key in keys for _, stated_key, value in stated if stated_key == key]
        assert len(answers) == row.queries * row.values
        assert all(text.count(f" for {key} is:") == row.values for key in keys)  # of whole needles and of a cut one


@pytest.mark.parametrize("task", TASKS)
def test_needles_stand_where_the_batch_says(task, source, decode, tokenizers, draw):
    drawn = draw(task, 900, source)
    for tokens, places, answers in zip(drawn.tokens, drawn.needles.tolist(), drawn.answers, strict=True):
        for (start, end), answer in zip(places, answers, strict=True):
            needle = decode(tokens[start:end])
            assert re.fullmatch(r"\s(One of the special magic \w+ for \S+ is: \S+\.|VAR \w+ = (VAR )?\w+)", needle)
            assert f" {answer}" in needle
            assert tokenizers["bytes"].encode(needle) == tokens[start:end].tolist()  # pieces are the text's own tokens


@pytest.mark.parametrize("task", [name for name in RETRIEVAL if TASKS[name].keys * TASKS[name].values == 1])
def test_depth_is_the_share_of_the_filler_before_the_needle(task, source, decode, tokenizers, draw):
    encode = tokenizers["bytes"].encode
    drawn = draw(task, 900, source, samples=8)
    assert float(drawn.depths.max()) > 0.5
    for tokens, ((start, end),), (depth,) in zip(drawn.tokens, drawn.needles, drawn.depths, strict=True):
        text = decode(tokens)
        description = len(encode(text[: text.index("in mind.") + len("in mind.")]))
        filler = 900 - description - int(end - start) - len(encode(text[text.index("\nWhich") :]))
        assert float(depth) == pytest.approx(int(start - description) / filler)


@pytest.mark.parametrize("task", TASKS)
def test_a_generator_determines_the_prompts(task, source, draw):
    first, again, other = (draw(task, 800, source, name=name) for name in ("one", "one", "two"))
    assert torch.equal(first.tokens, again.tokens) and first.answers == again.answers
    assert torch.equal(first.needles, again.needles) and torch.equal(first.depths, again.depths)
    assert not torch.equal(first.tokens, other.tokens) and set(first.answers).isdisjoint(other.answers)
    assert len(set(first.answers)) == len(first.answers)  # nor are samples of a batch the same


@pytest.mark.parametrize("family", ["bytes", "words"])
@pytest.mark.parametrize("task", TASKS)
def test_too_short_a_length_names_the_smallest_which_works(task, family, sources, draw):
    source = sources[family]
    with pytest.raises(ValueError, match="needs at least") as raised:
        draw(task, 10, source)
    assert "\n" not in str(raised.value) and f"length = 10, but the task {task!r}" in str(raised.value)
    smallest = int(re.search(r"at least (\d+) tokens", str(raised.value)).group(1))
    assert draw(task, smallest, source, samples=20).tokens.shape == (20, smallest)
    with pytest.raises(ValueError, match=f"length = {smallest - 1}, .* at least {smallest} tokens"):
        draw(task, smallest - 1, source)


# --- scores ---


@pytest.mark.parametrize(
    "output, share",
    [
        (" 1234567, 7654321, ab-CD, x.", 1.0),
        ("The answers are x, AB-cd and 7654321 and 1234567", 1.0),
        (" 1234567 and 7654321", 0.5),
        (" 123456 x", 0.25),
        (" 123456 7654 ab cd", 0.0),
        ("", 0.0),
    ],
)
def test_score_is_the_share_of_answers_in_the_output(output, share):
    assert needles.score(output, ("1234567", "7654321", "ab-cd", "x")) == share


@pytest.mark.parametrize("task", TASKS)
def test_an_answer_matches_where_all_its_tokens_are_right(task, source, draw):
    drawn = draw(task, 700, source)
    required = len(drawn.answers[0])
    for last in (drawn.longest, 600):
        guess = drawn.tokens[:, -last:].clone()
        assert needles.matches(guess, drawn).shape == (3, required) and bool(needles.matches(guess, drawn).all())
        marks = drawn.answer[:, -last:]
        guess[marks < 0] = -5  # what is before the answers and between them does not count
        assert bool(needles.matches(guess, drawn).all())
        for n in range(required):
            for place in (marks[1] == n).nonzero().flatten():
                wrong = guess.clone()
                wrong[1, place] += 1
                expected = torch.ones(3, required, dtype=torch.bool)
                expected[1, n] = False
                assert torch.equal(needles.matches(wrong, drawn), expected)


def test_predictions_that_miss_an_answer_are_refused(source, draw):
    drawn = draw("multivalue", 700, source)
    for guess in (drawn.tokens[:, -drawn.longest + 1 :], drawn.tokens[:2], torch.cat([drawn.tokens] * 2, 1)):
        with pytest.raises(ValueError, match=f"for 3 samples: predict the last {drawn.longest} tokens"):
            needles.matches(guess, drawn)
    with pytest.raises(ValueError, match="no answers"):
        needles.score("text", ())


# --- training ---


def test_a_training_batch_mixes_tasks_and_marks_the_answers(source, decode):
    tokens, marked = needles.training_batch(450, 64, runtime.generator(0, "batch"), source)
    assert tokens.shape == (64, 451) and marked.shape == (64, 450) and marked.dtype == torch.bool
    texts = [decode(row) for row in tokens]
    assert {text.split(".")[0] for text in texts} >= {
        "A special magic number is hidden in this text",
        "A special magic uuid is hidden in this text",
        "Special magic numbers are hidden in this text",
        "Variables are assigned in this text",
    }
    for row, mask, text in zip(tokens, marked, texts, strict=True):
        answers = re.search(r" (?:is|are):( [^:\n]*)$", text).group(1)
        assert decode(row[1:][mask]) == answers.replace(",", "") and bool(mask[-1])


@pytest.mark.parametrize("task", LESSONS)
def test_lessons_say_a_value_twice_and_mark_the_second_time(task, source, decode):
    tokens, marked = needles.training_batch(260, 4, runtime.generator(0, task), source, (task,))
    for row, mask in zip(tokens, marked, strict=True):
        value, again = re.search(r" is:( \S+)\. Remember( \S+)!", decode(row)).groups()
        targets = decode(row[1:][mask])
        assert value == again and targets == value * 2  # the echo, then the answer
        first, *_, last = mask.nonzero().flatten().tolist()
        assert decode(row[: first + 1]).endswith(". Remember") and last == 259


# --- varied texts ---

VARIED = Varied(shortest=250, cut=0.5, keyless=0.3)


def test_lengths_are_drawn_up_to_the_longest_and_every_text_fills_its_own(source):
    seen = set()
    for seed in range(40):
        tokens, marked = needles.training_batch(260, 2, runtime.generator(seed, "x"), source, ("single-1",), VARIED)
        assert tokens.shape[1] == marked.shape[1] + 1
        seen.add(marked.shape[1])
    assert min(seen) == 250 and max(seen) == 260 and len(seen) > 6


@pytest.mark.parametrize("task", ["single-1", "single-2", "multikey-2", "multiquery", "variable-tracking", "echo-2"])
def test_a_share_of_texts_begins_inside_the_description_and_a_share_asks_nothing(task, source, decode):
    varied = VARIED.model_copy(update={"shortest": 700})
    tokens, marked = needles.training_batch(700, 60, runtime.generator(0, task), source, (task,), varied)
    whole = decode(needles.prompts(task, 701, 1, runtime.generator(1, task), source).tokens[0])[:20]
    texts = [decode(row) for row in tokens]
    begins = [text.startswith(whole) for text in texts]
    assert 15 < begins.count(False) < 45
    for text, answers, begun in zip(texts, marked, begins, strict=True):
        asks = "does the text give for" in text or "Which variables" in text
        assert asks == bool(answers.any())
        if task != "multikey-2" and not asks:  # whose haystack is needles
            assert "special magic" not in text.partition("mind.")[2] and "VAR" not in text
        assert begun or text in whole or text[:20] != whole
    assert 8 < sum(not answers.any() for answers in marked) < 30
