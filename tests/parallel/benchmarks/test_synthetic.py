"""What is made has the form of the benchmark's lines, the length that is asked for and one needle at every depth."""

import json
from itertools import pairwise

import pytest

from attention_priors.parallel.benchmarks import infinitebench, synthetic
from parallel.benchmarks.made import infinite_line

TASKS = ("passkey", "number_string", "kv_retrieval")


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("length", [300, 1000, 64_000])
def test_lines_have_the_published_fields_and_the_length(task, length):
    lines = synthetic.lines(task, length, 3, seed=100)
    assert all(set(line) == set(infinite_line(task, 0)) for line in lines)
    assert all(0.98 * length - 110 < len(line["context"]) <= length for line in lines)
    rows = [infinitebench.row(infinitebench.TASKS[task], json.loads(json.dumps(line)), "here") for line in lines]
    assert [row.id for row in rows] == ["0", "1", "2"]


@pytest.mark.parametrize("task", TASKS)
def test_the_needle_stands_at_every_depth(task):
    lines = synthetic.lines(task, 20_000, 10, seed=100)
    depths = [line["context"].index(line["answer"][0]) / len(line["context"]) for line in lines]
    assert depths[0] < 0.1 and depths[-1] > 0.9
    assert all(0.05 < after - before < 0.15 for before, after in pairwise(depths))


def test_needles():
    passkeys = [line["answer"][0] for line in synthetic.lines("passkey", 500, 50, seed=100)]
    assert all(len(each) == 5 and each.isdigit() for each in passkeys) and len(set(passkeys)) > 45
    for line in synthetic.lines("number_string", 500, 50, seed=100):
        (digits,) = line["answer"]
        repeats = sum(one == other for one, other in pairwise(digits))
        assert len(digits) == 10 and digits.isdigit() and repeats >= 5
        assert line["context"].count(digits) == 2
    for line in synthetic.lines("kv_retrieval", 4000, 5, seed=100):
        pairs = json.loads(line["context"].removeprefix("JSON data:\n"))
        key = line["input"].split('"')[1]
        assert [pairs[key]] == line["answer"] and len(pairs) > 40


def test_a_length_is_counted_as_it_is_told():
    (line,) = synthetic.lines("passkey", 1000, 1, seed=100, count=lambda text: len(text.split()))
    assert 970 < len(line["context"].split()) <= 1000


@pytest.mark.parametrize(
    ("call", "value", "remedy"),
    [
        (("trec", 500, 1), "'trec'", "leave --length out"),
        (("passkey", 20, 1), "length = 20", "a longer one"),
        (("passkey", 500, 0), "samples = 0", "at least 1"),
    ],
)
def test_what_cannot_be_made_is_one_line(call, value, remedy):
    with pytest.raises(ValueError) as caught:
        synthetic.lines(*call, seed=100)
    assert value in str(caught.value) and remedy in str(caught.value) and "\n" not in str(caught.value)
