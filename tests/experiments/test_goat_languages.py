"""Goat and its rivals on text: differences paired by document."""

import math

import pandas as pd
import pytest

from attention_priors.experiments import goat_languages


def rows(losses, passed=()):
    """A row per document of one domain; `losses` by encoding and seed."""
    return pd.DataFrame(
        {
            "domain": "docstrings",
            "trained_on": True,
            "encoding": name,
            "times": 1,
            "seed": seed,
            "length": 128,
            "document": document,
            "loss": loss,
            "run": "r",
            "passed": (name, seed) not in passed,
            "trained": 128,
            "scored": 64,
        }
        for (name, seed), own in losses.items()
        for document, loss in enumerate(own)
    )


LOSSES = {("goat", 0): [1.0, 3.0], ("goat", 1): [1.2, 3.2], ("alibi", 0): [1.5, 2.9], ("alibi", 1): [1.5, 3.3]}


def test_differences_are_paired_by_document_and_averaged_within_seeds():
    found = goat_languages.differences(rows(LOSSES)).set_index(["encoding", "rival"])
    row = found.loc[("goat", "alibi")]
    assert row["gap"] == pytest.approx(-0.2) and row["better"] == 0.5  # (-.5 + .1) / 2 and (-.3 - .1) / 2
    assert (row["seeds"], row["documents"]) == (2, 2)
    assert row["low"] == pytest.approx(-0.2) == row["high"]
    assert found.loc[("alibi", "goat"), "gap"] == pytest.approx(0.2)


def test_a_model_that_misses_its_gate_is_in_no_pair():
    found = goat_languages.differences(rows(LOSSES, passed=[("goat", 1)])).set_index(["encoding", "rival"])
    assert found.loc[("goat", "alibi"), "seeds"] == 1 and math.isinf(found.loc[("goat", "alibi"), "high"])
    none = goat_languages.differences(rows(LOSSES, passed=[("goat", 0), ("goat", 1)]))
    assert (none["seeds"] == 0).all() and none["gap"].isna().all() and len(none) == 2
