"""Intervals of visible keys against the masks that they stand for."""

import dataclasses
import inspect
import itertools

import pytest
import torch

from attention_priors.attention import visible
from attention_priors.attention.visible import Facts, Visible, bidirectional, causal, documents, window
from refusals import refused

LENGTH = 13
IDS = torch.tensor([[0] * 5 + [1] * 7 + [2], [3, 3, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 0]])
ALL = {
    "causal": lambda: causal(LENGTH),
    "window": lambda: window(LENGTH, 4),
    "documents": lambda: documents(IDS),
    "bidirectional": lambda: bidirectional(LENGTH, LENGTH),
    "drawn": lambda: Visible(*torch.randint(LENGTH, (2, 2, LENGTH), generator=torch.Generator().manual_seed(1))),
}


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ALL, ALL)))
def test_intersection_is_the_and_of_the_masks(first, second):
    one, two = ALL[first](), ALL[second]()
    both = one & two
    assert torch.equal(both.dense(LENGTH), one.dense(LENGTH) & two.dense(LENGTH))
    assert torch.equal((two & one).dense(LENGTH), both.dense(LENGTH))
    assert torch.equal(both.count, both.dense(LENGTH).sum(-1))


@pytest.mark.parametrize(("queries", "offset"), [(1, 0), (5, 0), (1, 7), (3, 4)])
def test_causal_and_window_by_their_definitions(queries, offset):
    keys = queries + offset
    for row in range(queries):
        place = offset + row
        seen = causal(queries, offset).dense(keys)[row].nonzero().flatten().tolist()
        assert seen == list(range(place + 1))
        for size in (1, 2, 100):
            near = window(queries, size, offset).dense(keys)[row].nonzero().flatten().tolist()
            assert near == [key for key in range(place + 1) if place - key < size]


def test_documents_are_runs_of_equal_ids():
    mask = documents(IDS).dense(LENGTH)
    for batch, i, j in itertools.product(range(2), range(LENGTH), range(LENGTH)):
        between = IDS[batch, min(i, j) : max(i, j) + 1]
        assert bool(mask[batch, i, j]) == bool((between == between[0]).all())
    assert documents(torch.zeros(1, 1, dtype=torch.int64)).count.tolist() == [[1]]


def test_rows_are_a_range_of_queries():
    mask = causal(LENGTH) & documents(IDS)
    assert torch.equal(mask.rows(3, 8).dense(LENGTH), mask.dense(LENGTH)[:, 3:8])
    assert torch.equal(mask.rows(LENGTH - 1).dense(LENGTH), mask.dense(LENGTH)[:, -1:])


MADE = ALL | {
    "chunk": lambda: causal(4, 9),
    "chunk of a window": lambda: window(4, 3, 9),
    "short window of a short text": lambda: window(3, 5),
    "more keys": lambda: bidirectional(4, 9),
    "every token a document": lambda: documents(torch.arange(LENGTH)[None]),
    "one document": lambda: documents(torch.zeros(2, LENGTH, dtype=torch.int64)),
    "two masks": lambda: causal(LENGTH) & documents(IDS),
    "three masks": lambda: causal(LENGTH) & documents(IDS) & window(LENGTH, 2),
    "nothing": lambda: causal(2) & Visible(torch.tensor([1, 3]), torch.tensor([1, 3])),
    "middle rows": lambda: causal(LENGTH).rows(3, 8),
    "last row of both ways": lambda: bidirectional(LENGTH, LENGTH).rows(LENGTH - 1),
}


@pytest.mark.parametrize("name", MADE)
def test_facts_are_those_of_the_intervals(name):
    """What a maker knows is what looking at the numbers tells."""
    made = MADE[name]()
    lead = made.last - torch.arange(made.last.shape[-1])
    assert dataclasses.replace(made.facts, offset=None) == Facts(
        int(made.first.max()), int(made.last.max()), int(lead.min()), int(lead.max()), bool((made.count == 0).any())
    )


@pytest.mark.parametrize("name", [name for name in MADE if name not in ("drawn", "nothing")])
def test_compiled_code_knows_facts_that_hold(name, monkeypatch):
    """Without looking: bounds, and exact where only causal masks, windows and documents in them are made."""
    exact = MADE[name]().facts
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    bound = MADE[name]().facts
    assert bound.first >= exact.first and bound.last >= exact.last and not bound.empty
    assert bound.behind <= exact.behind and bound.ahead >= exact.ahead
    if name in ("causal", "window", "chunk", "two masks", "middle rows"):
        assert (bound.behind, bound.ahead) == (exact.behind, exact.ahead) or name == "two masks"
        assert bound.ahead == exact.ahead and bound.last == exact.last


PLACE = torch.arange(5)
# in tests the shape check of the annotations would come first
unchecked, look = inspect.unwrap(documents), inspect.unwrap(visible._look)
test_refuses_what_is_outside_the_domain = refused(
    (lambda: causal(0), "queries = 0"),
    (lambda: causal(3, -1), "offset = -1"),
    (lambda: window(3, 0), "window size = 0"),
    (lambda: unchecked(torch.zeros(3, dtype=torch.int64)), r"\[3\]"),
    (lambda: unchecked(torch.zeros(3, 0, dtype=torch.int64)), r"\[3, 0\]"),
    (lambda: bidirectional(2, 0), "keys = 0"),
    (lambda: Visible(PLACE - 1, PLACE), "first holds -1"),
    (lambda: look(PLACE, PLACE[:4]), r"last is torch.int64 of shape \[4\]"),
    (lambda: look(PLACE, PLACE > 2), "last is torch.bool"),
    (lambda: look(PLACE.float(), PLACE), "first is torch.float32"),
    (lambda: causal(5) & window(5, 2, 3), "masks are for the offsets 0 and 3; make both for the same"),
    (lambda: causal(5) & causal(4), "masks have shapes [5] and [4]; make both for the same"),
    (lambda: documents(IDS) & documents(IDS.repeat(2, 1)), "masks have shapes [2, 13] and [4, 13]"),
    (lambda: causal(5).rows(5), "rows 5 to 5 are not within the 5 queries"),
    (lambda: causal(5).rows(-2), "rows -2 to 5 are not within the 5"),
    (lambda: causal(5).rows(2, 6), "rows 2 to 6 are not within the 5"),
)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (causal, {"queries": 16.0}),
        (causal, {"queries": 4, "offset": 0.5}),
        (causal, {"queries": 4, "offset": "1"}),
        (causal, {"queries": True}),
        (causal, {"queries": torch.tensor(4)}),
        (window, {"queries": 4, "size": 2.5}),
        (bidirectional, {"queries": None, "keys": 4}),
        (bidirectional, {"queries": 4, "keys": 4.0}),
    ],
)
def test_refuses_numbers_that_are_not_whole(make, given):
    name, value = next((name, value) for name, value in given.items() if type(value) is not int)
    with pytest.raises(TypeError) as caught:
        inspect.unwrap(make)(**given)  # the check of annotations would come first
    assert f"{name} = {value!r} is a {type(value).__name__}; give a whole number (int)" in str(caught.value)
