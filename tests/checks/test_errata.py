"""Every row of the committed errata, read as text by somebody who has nothing else, and recomputed."""

import ast
import re
from dataclasses import replace

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.checks import CHECKS
from attention_priors.claims.law import gap

ROWS = pd.read_csv(config.ROOT / "results" / "cpu" / "tables" / "errata.csv", dtype=str).set_index("claim")
PRINTED = re.compile(r"(?P<inputs>.*): claimed (?P<claimed>.*?), actual (?P<actual>.*)", re.DOTALL)
DIGITS = 1e-3  # a row prints six digits


def value(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def read(row):
    """Inputs, what is claimed and what is true, as a row prints them."""
    found = PRINTED.fullmatch(row)
    inputs = (each.split(" = ", 1) for each in re.split(r", (?=\w+ = )", found["inputs"]))
    return {name: value(text) for name, text in inputs}, value(found["claimed"]), value(found["actual"])


def alike(computed, printed):
    if str(computed) == str(printed):
        return True
    if isinstance(computed, str):
        computed = value(computed)
    size = max(map(abs, printed), default=1) if isinstance(printed, list) else abs(value(str(printed)))
    return gap(computed, printed) <= DIGITS * max(1, size)


@pytest.mark.parametrize("identifier", ROWS.index)
def test_a_reader_recomputes_the_row(identifier):
    inputs, claimed, actual = read(ROWS.loc[identifier, "counterexample"])
    failing = next(law for law, _ in CHECKS[identifier].wanting if not law.symbolic)
    again = replace(failing, cases=[inputs], witness=()).judge()
    assert not again.holds
    found = failing.counterexample(again)
    assert alike(found["claimed"], claimed) and alike(found["actual"], actual)


def test_a_row_that_prints_something_else_is_noticed():
    row = "theta = 1.5, width = 4: claimed [1, 2], actual none"
    assert read(row) == ({"theta": 1.5, "width": 4}, [1, 2], "none")
    assert alike(0.540302305, 0.540302) and not alike(0.55, 0.540302) and alike("60.00", 60.0)
    assert not alike([1.0, 2.0], [1.0, 2.5])
