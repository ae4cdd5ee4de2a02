"""Perplexity beside retrieval: whose seeds count, and what decides."""

import numpy as np
import pytest

from attention_priors.experiments.misleading import both
from figures.committed import frame


def test_gates_of_either_task_decide_who_counts():
    texts, passkeys = frame("language_perplexity"), frame("passkey_by_length")
    assert both(texts, passkeys).query("encoding in ['rope', 'bam', 'alibi']")["decides"].all()
    near = passkeys["length"] <= passkeys["trained"]
    unlearned = near & ((passkeys["encoding"] == "alibi") | ((passkeys["encoding"] == "bam") & (passkeys["seed"] == 0)))
    passkeys = passkeys.assign(correct=passkeys["correct"].mask(unlearned, 0))
    found = both(texts.assign(passed=texts["passed"] & (texts["encoding"] != "rope")), passkeys)
    found = found[found["multiple"] == 16].set_index("encoding")
    assert found.loc[["rope", "bam", "alibi"], "decides"].tolist() == [False, True, False]
    own = passkeys.query("form == 'plain' and encoding == 'bam' and length == 16 * trained and seed > 0")
    assert found.loc["bam", "accuracy"] == pytest.approx((own["correct"] / own["samples"]).mean())
    assert not found.loc["rope", "learned"] and found.loc["rope", "retrieves"] and not found.loc["alibi", "retrieves"]
    assert 1.0 not in set(both(texts, passkeys)["multiple"]), "at T nothing is longer"


def test_losses_of_equal_tokens_compare():
    texts = frame("language_perplexity").query("trained_on and length == 16 * trained and encoding == 'nope'")
    assert set(texts["times"]) == {1, 3}
    found = both(frame("language_perplexity"), frame("passkey_by_length")).query(
        "encoding == 'nope' and multiple == 16"
    )
    assert found["perplexity"].iloc[0] == pytest.approx(np.exp(texts[texts["times"] == 1]["loss"].mean()))
