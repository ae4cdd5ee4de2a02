"""What is committed is what the library makes today: metrics derived from others, and sentences of the notebooks."""

import importlib
import re

import nbformat
import pandas as pd
import pytest

from attention_priors import config, experiments
from attention_priors.figures.words import bounded
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS, file_name
from figures.committed import frame, report

SAYS = re.compile(r'study\.says\("(\w+)", (\w+)\.(\w+)\)')


@pytest.mark.parametrize("name", experiments.derived())
def test_a_derived_metric_follows_from_its_sources(name):
    source, derive = experiments.derived()[name]
    old, new = frame(name), derive(*(report(name).source(each) for each in experiments.sources(source)))
    columns = [column for column in new if column in old]  # others were added for drawing
    as_read = {"check_dtype": False, "check_index_type": False, "rtol": 1e-8, "atol": 1e-9}
    pd.testing.assert_frame_equal(old[columns], new[columns].reset_index(drop=True), **as_read)


def sentences():
    """(notebook, metric, module, function) of every sentence that a notebook says."""
    for notebook in NOTEBOOKS:
        source = nbformat.read(config.ROOT / "notebooks" / file_name(notebook), as_version=4)
        yield from ((notebook, *each) for cell in source.cells for each in SAYS.findall(cell.source))


@pytest.mark.parametrize(("notebook", "metric", "module", "name"), list(sentences()))
def test_an_executed_notebook_says_what_its_numbers_say(notebook, metric, module, name):
    say = getattr(importlib.import_module(f"attention_priors.experiments.{module}"), name)
    sentence, _, measured, value, low, high, *_ = say(frame(metric))
    layout = report(metric).layout
    executed = nbformat.read(layout.copy(notebook), as_version=4)
    shown = [output.get("data", {}) for cell in executed.cells for output in cell.get("outputs", ())]
    number = f" *{measured[0].upper()}{measured[1:]}: {bounded(value, low, high)}.*" if value == value else ""
    told = f"**Found in profile `{layout.profile}`.** {sentence}{number}"
    assert told in [each.get("text/markdown") for each in shown]


@pytest.mark.parametrize("profile", ["cpu", "full"])
def test_every_committed_result_has_its_sum_and_none_is_missing(profile):
    looked, wrong = manifest.problems(Layout(config.ROOT / "results", profile))
    assert looked > 500 and wrong == []
