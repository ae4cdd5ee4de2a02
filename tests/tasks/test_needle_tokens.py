"""The tokenizer of words: what a token is, which words it knows, and that no needle is lost in it."""

import pytest

from attention_priors import runtime
from attention_priors.tasks import needle_tokens, needles
from attention_priors.tasks.needle_source import Source
from attention_priors.tasks.needle_text import TASKS
from attention_priors.tasks.needle_tokens import UNKNOWN, Words, split

SMALLEST = len(needle_tokens._fixed()) + 1


@pytest.fixture(scope="module")
def words(prose):
    return Words(prose, SMALLEST + 8)


@pytest.mark.parametrize(
    "text, tokens",
    [
        (" clear-chair is: 8240944.", "clear - chair is : 8 2 4 0 9 4 4 ."),
        ("\nVAR ABCDE = VAR XYZZY", "VAR A B C D E = VAR X Y Z Z Y"),
        ("a NUMBER, ABCDEF or x1", "a NUMBER , ABCDEF or x 1"),
        (" 70e9bd69-0671-410f-8e63-3c43528f877a", "70 e9 bd 69 - 06 71 - 41 0f - 8e 63 - 3c 43 52 8f 87 7a"),
        (" \n ", ""),
    ],
)
def test_tokens(text, tokens):
    assert " ".join(split(text)) == tokens


def test_the_most_frequent_words_of_the_prose_have_ids_of_their_own(prose, words):
    extra = words.tokens[SMALLEST:]
    assert len(words.tokens) == SMALLEST + 8 and len(set(words.tokens)) == len(words.tokens)
    # Each verb stands in 15 sentences, each season in 20; "house" and "the" are words of the prompts.
    assert {"spring", "summer", "paints"} <= set(extra) and not {"house", "the", "kitchen"} & set(extra)
    assert words.decode(words.encode("the summer of somebody")) == f"the summer of {UNKNOWN}"
    assert Words(list(prose), SMALLEST + 8).tokens == words.tokens
    assert Words(prose, 10**6).decode(Words(prose, 10**6).encode(prose[0])) == " ".join(split(prose[0]))


@pytest.mark.parametrize("task", TASKS)
def test_nothing_but_prose_is_unknown(task, prose, words):
    source = Source(words, prose)
    drawn = needles.prompts(task, 400, 20, runtime.generator(0, "unknown"), source)
    for tokens, places in zip(drawn.tokens.tolist(), drawn.needles.tolist(), strict=True):
        text = words.decode(tokens)
        parts = [text[text.rindex("Which ") :], text.split(".")[0]]
        parts += [words.decode(tokens[start:end]) for start, end in places]
        assert all(UNKNOWN not in part for part in parts)
    assert source.width(source.widest("uuids")) == 20 and source.width(source.widest("words")) == 3


def test_a_vocabulary_without_room_for_the_prompts_is_refused(prose):
    message = f"vocabulary = {SMALLEST - 1} is too small: the words of needle prompts alone take {SMALLEST}"
    with pytest.raises(ValueError, match=message):
        Words(prose, SMALLEST - 1)
