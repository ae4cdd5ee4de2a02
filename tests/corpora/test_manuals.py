"""Long documents: listed with their sums, long enough, and missing ones are said to be missing."""

from importlib.metadata import version

import pytest

from attention_priors import config
from attention_priors.corpora import corpora, manuals


def test_documents_are_those_that_are_pinned():
    for name, row in manuals.known().items():
        assert len(manuals.text(name)) == manuals.CHARACTERS and len(row.sha256) == 64
        pinned = row.package == manuals.TOPICS or version(row.package) == row.version
        assert manuals.changed(name) is None or not pinned or row.package == manuals.TOPICS
        assert row.package not in corpora.pinned("docstrings")["packages"]


def test_each_profile_reads_documents_that_there_are():
    for name in ("smoke", "cpu", "full"):
        settings = config.profile(name).pretrained
        assert {*settings.documents, settings.keys.document} <= set(manuals.known())
        assert settings.keys.document not in config.profile("cpu").pretrained.documents


def test_another_text_is_noticed(monkeypatch):
    row = manuals.known()["tornado-web"]
    monkeypatch.setattr(manuals, "known", lambda: {"tornado-web": row.model_copy(update={"sha256": "0" * 64})})
    assert manuals.changed("tornado-web") == f"tornado {version('tornado')}, not {row.version}"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"package": "no-such-package"}, "pip install no-such-package=="),
        ({"file": "tornado/none.py"}, "is not there"),
        ({"file": "tornado/util.py"}, "characters from 0 on"),
    ],
)
def test_missing_documents_are_one_line(monkeypatch, changes, said):
    row = manuals.known()["tornado-web"].model_copy(update=changes)
    monkeypatch.setattr(manuals, "known", lambda: {"tornado-web": row})
    with pytest.raises(ValueError, match=said) as error:
        manuals.text("tornado-web")
    assert "\n" not in str(error.value)


def test_a_package_needs_a_file():
    with pytest.raises(ValueError, match="a package needs one"):
        manuals.Manual(kind="source", package="tornado")
