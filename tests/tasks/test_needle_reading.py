"""The reader of prompts: it finds what was drawn, and sees when a prompt says something else."""

import pytest

from attention_priors import runtime
from attention_priors.checks.ruler.tasks import RULER
from attention_priors.tasks import needles
from attention_priors.tasks.needle_reading import reading
from attention_priors.tasks.needle_source import Source
from attention_priors.tasks.needle_tokens import Words


@pytest.fixture(scope="module")
def texts(prose):
    """Prompts of a task at a length, as text."""
    words = Words(prose, 1024)
    source = Source(words, prose)

    def drawn(task, length=260, samples=10):
        made = needles.prompts(task, length, samples, runtime.generator(0, f"{task}/{length}"), source)
        return [words.decode(row.tolist()) for row in made.tokens]

    return drawn


@pytest.mark.parametrize("length", [201, 260, 901])
@pytest.mark.parametrize("task", RULER)
def test_reads_what_was_drawn(task, length, texts):
    haystack, key, value, keys, values, queries = RULER[task]
    for text in texts(task, length):
        found = reading(text)
        assert found["tokens"] == length and found["stated"]
        assert (found["haystack"], found["key"], found["value"]) == (haystack, key, value)
        assert (found["values"], found["queries"]) == (values, queries)
        assert found["keys"] == keys if keys else found["keys"] > 1 + (task == "multikey-2")


def needle(key, value):
    return f"One of the special magic numbers for {key} is : {value} . "


@pytest.mark.parametrize("task", ["single-1", "multikey-1", "multivalue", "multiquery"])
def test_sees_an_answer_that_is_not_stated_and_needles_that_are_too_many(task, texts):
    text = texts(task)[0]
    start = text.index("in mind . ") + len("in mind . ")
    more = reading(text[:start] + needle("red - fox", "1 2 3 4 5 6 7") + text[start:])
    assert more["keys"] == RULER[task][3] + 1 and more["stated"]
    last = text[-1]
    assert not reading(text[:-1] + str((int(last) + 1) % 10))["stated"]
    asked = text.rpartition("? The special magic")[0].rpartition(" for ")[2].split(" , ")[0].strip()
    again = reading(text[:start] + needle(asked, "1 2 3 4 5 6 7") + text[start:])
    assert again["values"] == RULER[task][4] + 1 and not again["stated"]


def test_sees_another_haystack_and_another_kind(texts):
    text = texts("single-1")[0]
    assert reading(text.replace("The sky is blue", "The sky is red", 1))["haystack"] == "prose"
    assert reading(texts("single-3")[0].replace(" - ", " ", 1))["key"] == "mixed"
    with pytest.raises(ValueError, match="no question"):
        reading(text.replace("Which special magic", "What special magic"))
