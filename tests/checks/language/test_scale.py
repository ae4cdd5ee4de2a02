"""X-34 and X-35: every sentence can be decided either way, and what is not there decides nothing."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.language import scale

NAMES = (scale.DIVIDED, *scale.BETWEEN, scale.ALIBI, *scale.BREAK)
AS_WRITTEN = dict(zip(NAMES, (0.0, 0.02, 0.03, 0.05, 1.0, 2.0), strict=True))  # growth at 64T
REVERSED = dict(zip(NAMES, (0.4, 0.3, 0.2, 0.15, 0.1, 0.0), strict=True))


def frames(grows=AS_WRITTEN, widths=(96, 192), lengths=(128, 8192), missed=()):
    rows = [
        (name, width, seed, length, document, 2 + document / 10 + seed / 500 + (length > 128) * grows[name])
        for name, width, seed, length, document in itertools.product(NAMES, widths, range(3), lengths, range(8))
    ]
    frame = pd.DataFrame(rows, columns=["encoding", "width", "seed", "length", "document", "loss"])
    return {scale.LOSSES: frame.assign(trained=128, passed=~frame["encoding"].isin(missed))}


def outcomes(identifier, given):
    return [each.outcome for each in CHECKS[identifier].judged(given)]


@pytest.mark.parametrize("identifier", ["X-34", "X-35"])
def test_each_sentence_can_be_decided_either_way(identifier):
    assert outcomes(identifier, frames()) == ["agrees"] * 8
    assert outcomes(identifier, frames(REVERSED)) == ["disagrees"] * 8


def test_each_claim_is_about_its_own_size():
    mixed = frames()[scale.LOSSES]
    mixed = {scale.LOSSES: pd.concat([mixed[mixed["width"] == 96], frames(REVERSED, (192,))[scale.LOSSES]])}
    assert outcomes("X-34", mixed) == ["agrees"] * 8 and outcomes("X-35", mixed) == ["disagrees"] * 8
    alone = CHECKS["X-35"].judged(frames(widths=(96,)))
    assert {(each.outcome, each.note.split("; ")[-1]) for each in alone} == {("undecided", "one size alone")}


def test_lengths_that_were_not_read_and_models_without_order_decide_nothing():
    assert outcomes("X-34", frames(lengths=(128, 512))) == ["undecided"] * 8
    found = CHECKS["X-34"].judged(frames(missed=["nope", "alibi"]))
    assert [each.outcome for each in found] == [
        *("agrees", "undecided", "agrees", "agrees", "agrees", "undecided", "undecided", "undecided")
    ]
    assert "gate missed: NoPE" in found[1].note
