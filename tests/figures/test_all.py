"""What holds for every row of FIGURES and TABLES: it opens, says what it reads, and says so where that is missing."""

import functools
import re

import pandas as pd
import pytest

from attention_priors import claims, config
from attention_priors.experiments import EXPERIMENTS
from attention_priors.figures import FIGURES, LEDGER, TABLES, NotCompared
from attention_priors.store.notebooks import NOTEBOOKS

RESULTS = config.ROOT / "results"
ROWS = [(kind, table, name) for kind, table in (("figure", FIGURES), ("table", TABLES)) for name in table]
SIMULATED = [row for row in ROWS if row[1][row[2]].rows]


@functools.cache
def frame(metrics):
    """The committed metrics of any profile; for tables of the ledger, one in which nothing has run."""
    if metrics == LEDGER:
        return claims.frame(claims.gather(RESULTS / "nowhere", "cpu"))
    paths = sorted(RESULTS.glob(f"*/metrics/{metrics}.csv*"))
    if not paths and all(metrics in left_out(name) for name in ("cpu", "full")):
        pytest.skip(f"both committed profiles leave out what measures {metrics}")
    return pd.read_csv(paths[0])


def left_out(profile):
    """The metrics of the experiments that a profile leaves out."""
    return {metric for name in config.profile(profile).without for metric in EXPERIMENTS[name].metrics}


def said(spec, rows):
    """The caption; a comparison that lacks its rivals under the committed profile has none."""
    try:
        return spec.caption(rows)
    except NotCompared as alone:
        pytest.skip(str(alone))


def identify(rows):
    return {"argvalues": rows, "ids": [f"{kind}-{name}" for kind, _, name in rows]}


@pytest.mark.parametrize(("kind", "table", "name"), **identify(ROWS))
def test_a_row_opens_and_is_named_as_its_file(kind, table, name):
    spec = table[name]
    words = re.findall(r"[a-z]+", table.rows[name].lower())  # of its module, and of what it is called there
    assert any(word.rstrip("s") in name for word in words) and spec.notebook in NOTEBOOKS
    assert type(spec).__name__ == f"{kind.title()}Spec" and (kind == "table" or spec.alt.endswith("."))
    assert set(getattr(spec, "claims", ())) <= set(claims.register())


@pytest.mark.parametrize(("kind", "table", "name"), **identify(ROWS))
def test_the_caption_is_a_sentence(kind, table, name):
    spec = table[name]
    caption = said(spec, frame(spec.metrics))
    assert len(caption.split()) > 3 and caption.endswith(".") and "nan" not in caption
    assert NOTEBOOKS[spec.notebook].trained or "profile" not in caption.lower()


@pytest.mark.parametrize(("kind", "table", "name"), **identify(ROWS))
def test_a_frame_with_other_columns_is_refused_by_name(kind, table, name):
    spec = table[name]
    other = frame(spec.metrics).rename(columns="other {}".format)
    said = rf"^{kind} \S+: metrics '{spec.metrics}' have no column .+; run notebook {spec.notebook} again$"
    with pytest.raises(ValueError, match=said), spec.reading():
        (spec.draw if kind == "figure" else spec.build)(other)


@pytest.mark.parametrize(("kind", "table", "name"), **identify(SIMULATED))
def test_a_simulation_makes_the_frame_that_is_drawn(kind, table, name, small, whole):
    spec = table[name]
    made = pd.DataFrame(spec.rows(small(draws=20_000, length=64), 0))
    if kind == "figure":
        whole(spec, made)
    else:
        assert len(spec.build(made)) and spec.caption(made).endswith(".")


COMPARING = [row for row in ROWS if NOTEBOOKS[row[1][row[2]].notebook].trained]


@pytest.mark.parametrize(("kind", "table", "name"), **identify(COMPARING))
def test_one_arm_is_drawn_or_refused_in_words(kind, table, name):
    """Where a comparison lacks its rivals, the reason is said, and nothing else goes wrong."""
    spec = table[name]
    there = frame(spec.metrics)
    if "encoding" not in there:
        pytest.skip("compares no encodings")
    alone = there[there["encoding"] == there["encoding"].dropna().iloc[0]]
    try:
        (spec.draw if kind == "figure" else spec.build)(alone)
    except NotCompared as reason:
        assert "profile" in str(reason)
