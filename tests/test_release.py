"""What a release is cited by: one version and one date in all files, the fields that readers of them need."""

import datetime
import json
import re
import tomllib

import pytest
import yaml


@pytest.fixture(scope="module")
def version(root) -> str:
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def citation(root) -> dict:
    return yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def deposit(root) -> dict:
    return json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))


def entries(text: str) -> list[tuple[str, str]]:
    """(version, date) of the changelog's entries, the newest first; what is not released yet is none."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$", text, re.M)


def test_all_files_have_the_version_of_the_project(root, version, citation, deposit):
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    newest = entries((root / "CHANGELOG.md").read_text())[0]
    assert (str(citation["version"]), deposit["version"], newest[0]) == (version, version, version)
    day = citation["date-released"]
    assert isinstance(day, datetime.date) and (deposit["publication_date"], newest[1]) == (str(day), str(day))


def test_the_citation_has_what_its_format_asks_for(citation):
    """Citation File Format 1.2.0: the required keys, known keys alone, and an address or the place for one."""
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert (citation["cff-version"], citation["type"], citation["license"]) == ("1.2.0", "software", "Apache-2.0")
    known = {
        "abstract",
        "authors",
        "cff-version",
        "date-released",
        "doi",
        "keywords",
        "license",
        "message",
        "references",
        "repository-code",
        "title",
        "type",
        "url",
        "version",
    }
    assert citation.keys() <= known
    for people in (citation["authors"], *(work["authors"] for work in citation["references"])):
        assert people and all("name" in one or {"family-names", "given-names"} <= one.keys() for one in people)
    assert all({"type", "title", "authors"} <= work.keys() for work in citation["references"])
    assert re.fullmatch(r"https://\S+", citation.get("repository-code", "https://to.be.filled.at.release"))


def test_the_place_of_the_address_is_there_until_a_release_fills_it(root, citation):
    text = (root / "CITATION.cff").read_text()
    assert "repository-code" in citation or re.search(r"^# At release.*repository-code: https://", text, re.M)
    assert "repository-code" in (root / "RELEASING.md").read_text()


def test_the_deposit_says_the_same_as_the_citation(citation, deposit):
    assert {"title", "description", "creators", "license", "upload_type", "access_right"} <= deposit.keys()
    assert (deposit["title"], deposit["license"], deposit["upload_type"]) == (
        citation["title"],
        "Apache-2.0",
        "software",
    )
    assert [one["name"] for one in deposit["creators"]] == [one["name"] for one in citation["authors"]]
    assert set(deposit["keywords"]) == set(citation["keywords"])
    assert "Creative Commons Attribution 4.0" in deposit["description"]
    assert all({"identifier", "relation"} <= one.keys() for one in deposit["related_identifiers"])


def test_both_licences_are_there_and_the_readme_says_what_is_under_which(root):
    assert "Apache License" in (root / "LICENSE").read_text()
    words = (root / "LICENSE-CC-BY-4.0").read_text()
    assert words.startswith("Attribution 4.0 International") and "Section 8 -- Interpretation." in words
    cite = " ".join((root / "README.md").read_text().partition("## Cite")[2].split())
    assert "Code is under [Apache-2.0](LICENSE)" in cite and "[CC BY 4.0](LICENSE-CC-BY-4.0)" in cite


def test_the_changelog_goes_back_in_time_with_known_headings(root):
    text = (root / "CHANGELOG.md").read_text()
    found = entries(text)
    assert found == sorted(found, key=lambda entry: tuple(map(int, entry[0].split("."))), reverse=True)
    assert len(found) == len(re.findall(r"^## \[\d", text, re.M)), "every entry has a number and a day"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= kinds


def test_the_checklist_names_targets_and_files_that_there_are(root):
    text = (root / "RELEASING.md").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(), re.M).group(1).split()
    assert set(re.findall(r"`make (\w+)", text)) <= set(targets)
    for name in re.findall(r"`(CITATION\.cff|\.zenodo\.json|[A-Z]+\.md|pyproject\.toml)`", text):
        assert (root / name).is_file(), name
