"""What holds for every row of FIGURES and TABLES: it opens, reads what it says, and shows what is committed."""

import re

import pandas as pd
import pytest

from attention_priors import claims
from attention_priors.figures import FIGURES, TABLES, NotCompared, style, tables, words
from attention_priors.store.notebooks import NOTEBOOKS
from figures import looks
from figures.committed import frame, report

KINDS = {"figure": FIGURES, "table": TABLES}
ROWS = [(kind, name) for kind, table in KINDS.items() for name in table]


def identify(rows):
    return {"argvalues": rows, "ids": [f"{kind}-{name}" for kind, name in rows]}


def act(kind, name):
    return KINDS[kind][name].draw if kind == "figure" else KINDS[kind][name].build


@pytest.mark.parametrize(("kind", "name"), **identify(ROWS))
def test_a_row_opens_and_is_named_as_its_file(kind, name):
    table = KINDS[kind]
    spec = table[name]
    of_file = re.findall(r"[a-z]+", table.rows[name].lower())  # of its module, and of what it is called there
    assert any(word.rstrip("s") in name for word in of_file) and spec.notebook in NOTEBOOKS
    assert type(spec).__name__ == f"{kind.title()}Spec" and (kind == "table" or spec.alt.endswith("."))
    assert set(getattr(spec, "claims", ())) <= set(claims.register())


@pytest.mark.parametrize(("kind", "name"), **identify(ROWS))
def test_the_committed_frame_gives_the_committed_words_and_a_legible_figure(kind, name, legible):
    """Captions and tables are those that readers have; in a figure nothing is small, pale, cut, or another's look."""
    spec = KINDS[kind][name]
    whole, there = frame(spec.metrics), report(spec.metrics)
    caption = spec.caption(whole)
    assert caption.endswith(".") and "nan" not in caption
    assert NOTEBOOKS[spec.notebook].trained or "profile" not in caption.lower()
    text = next(path for path in there.files(kind, name) if path.suffix == ".md").read_text(encoding="utf-8")
    if kind == "table":
        origin = text.splitlines()[-1]
        assert tables.render(name, spec.build(whole), caption, origin)["md"] == text, "run make figures"
        return
    made = spec.draw(whole)
    printed, notes = there.caption(name)
    assert f"**Caption.** {printed}\n" in text and f"**Notes.** {notes}\n" in text, "run make figures"
    assert len(printed.split()) <= words.PRINTED and printed.endswith(".") and notes.endswith(".")
    width, height = made.get_size_inches()
    assert width in style.WIDTHS and height < 9
    legible(made)
    assert not looks.pale(made) and not looks.cut(made) and not looks.touching(made)
    assert not looks.strange(made)


@pytest.mark.parametrize(("kind", "name"), [("figure", "prior_shapes"), ("table", "encodings")])
def test_a_frame_with_other_columns_is_refused_by_name(kind, name):
    spec = KINDS[kind][name]
    other = frame(spec.metrics).rename(columns="other {}".format)
    said = rf"^{kind} \S+: metrics '{spec.metrics}' have no column .+; run notebook {spec.notebook} again$"
    with pytest.raises(ValueError, match=said), spec.reading():
        act(kind, name)(other)


@pytest.mark.parametrize(("kind", "name"), **identify([row for row in ROWS if KINDS[row[0]][row[1]].rows]))
def test_a_simulation_makes_the_frame_that_is_drawn(kind, name, small, whole):
    spec = KINDS[kind][name]
    made = pd.DataFrame(spec.rows(small(draws=20_000, length=64), 0))
    if kind == "figure":
        whole(spec, made)
    else:
        assert len(spec.build(made)) and spec.caption(made).endswith(".")


COMPARING = [row for row in ROWS if NOTEBOOKS[KINDS[row[0]][row[1]].notebook].trained]


def compared(kind, name, column):
    """The committed frame of a comparison of trained models; skipped where it has no such column."""
    there = frame(KINDS[kind][name].metrics)
    if column not in there:
        pytest.skip(f"compares no {column}")
    return there


@pytest.mark.parametrize(("kind", "name"), **identify(COMPARING))
def test_one_arm_is_drawn_or_refused_in_words(kind, name):
    """Where a comparison lacks its rivals, the reason is said, and nothing else goes wrong."""
    there = compared(kind, name, "encoding")
    alone = there[there["encoding"] == there["encoding"].dropna().iloc[0]]
    try:
        act(kind, name)(alone)
    except NotCompared as reason:
        assert "profile" in str(reason)


@pytest.mark.parametrize(("kind", "name"), **identify(COMPARING))
def test_one_seed_is_told_without_an_interval_that_is_none(kind, name):
    spec, there = KINDS[kind][name], compared(kind, name, "seed")
    one = there[there["seed"].isna() | (there["seed"] == there["seed"].dropna().iloc[0])]
    try:
        told = spec.caption(one)
        told = told if kind == "figure" else tables.render(name, spec.build(one), told, "")["md"]
    except NotCompared:
        return
    assert not re.search(r"\bnan\b", told)
