"""The register, what a verdict may say, and a ledger that always has every id."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attention_priors import claims, config, store
from attention_priors.checks import CHECKS, Checks
from attention_priors.claims import Verdict
from attention_priors.commands import claim as __main__
from attention_priors.publish import readme
from attention_priors.publish.site.committed import Committed
from attention_priors.store.notebooks import NOTEBOOKS, file_name
from attention_priors.store.registry import LIBRARY

ENTRIES = """
- {id: BAM-T4, source: BAM paper, kind: theorem, scale: cpu, statement: Weights stay positive., notebook: field_guide}
- {id: BAM-T4b, source: BAM paper, kind: theorem, scale: cpu, statement: "A tail $|x|$.", notebook: field_guide}
- {id: BAM-C1, source: BAM paper, kind: empirical, scale: cpu-small, statement: It reaches far., notebook: passkeys}
- {id: BAM-C4, source: BAM paper, kind: empirical, scale: cpu, statement: Few parameters., notebook: field_guide}
- {id: GOAT-1, source: Goat, kind: theorem, scale: cpu, statement: Transport., notebook: attention_is_inference}
- {id: X-3, source: cross, kind: table, scale: paper, statement: A table., notebook: passkeys}
"""


@pytest.fixture
def known(tmp_path):
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "all.yaml").write_text(ENTRIES, encoding="utf-8")
    return claims.register(folder)


def exact(claim, **changes):
    """A valid exact verdict, changed, beside its claim."""
    found = {"verdict": "verified", "measured": 1.0, "relation": "==", "expected_value": 1.0, "tolerance": 1e-12}
    profile = "cpu" if NOTEBOOKS[claim.notebook].trained else "theory"
    return claims.settle(Verdict(**{"id": claim.id, **found, "profile": profile, "recipe": "exact", **changes}), claim)


def run(claim, **changes):
    """A valid empirical verdict, changed, beside its claim."""
    found = {"verdict": "scaled reproduction", "outcome": "agrees", "seeds": [1, 2], "interval": (0.8, 1.0)}
    words = {"recipe": "passkey-small", "opposite": "a median below 0.5", "evidence": ["metrics/passkey.csv"]}
    return exact(claim, **{**found, **words, **changes})


WRONG = {"inputs": {"x": 2, "y": [1.0, 0.5]}, "claimed": 3.0, "actual": 2.5}


def test_the_register_has_every_claim_of_the_documents_with_a_notebook_each():
    register = claims.register()
    assert register.keys() == claims.read(config.ROOT / "results" / "cpu" / "claims.json").keys()
    assert {claim.document for claim in register.values()} == set(claims.DOCUMENTS)
    assert list(dict.fromkeys(claim.document for claim in register.values())) == list(claims.DOCUMENTS)


@pytest.mark.parametrize(
    "broken, message",
    [
        (ENTRIES.replace("kind: table", "kind: tabel"), "X-3: kind"),
        (ENTRIES.replace("notebook: attention_is_inference", "expected: holds"), "GOAT-1"),
        (ENTRIES.replace("notebook: attention_is_inference", "notebook: transport"), "GOAT-1: notebook"),
        (ENTRIES + ENTRIES, "BAM-T4 is in the register twice"),
    ],
)
def test_a_broken_register_is_refused_in_one_line(tmp_path, broken, message):
    (tmp_path / "all.yaml").write_text(broken, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        claims.register(tmp_path)
    assert "\n" not in str(error.value)


def test_an_edited_register_is_read_again(tmp_path):
    path = tmp_path / "all.yaml"
    path.write_text(ENTRIES, encoding="utf-8")
    before = claims.register(tmp_path)["X-3"].statement
    path.write_text(ENTRIES.replace("A table.", "Another table."), encoding="utf-8")
    assert (before, claims.register(tmp_path)["X-3"].statement) == ("A table.", "Another table.")


@pytest.mark.parametrize(
    "identifier, build, changes, message",
    [
        ("BAM-C1", exact, {}, "use 'scaled reproduction'"),
        (
            "BAM-C1",
            exact,
            {"verdict": "verified with correction", "counterexample": WRONG, "corrected": "no"},
            "use 'scaled reproduction'",
        ),
        ("BAM-C1", run, {"verdict": "inconclusive", "outcome": "disagrees"}, "is undecided"),
        ("BAM-C1", run, {"verdict": "reproduced", "profile": "paper", "evidence": []}, "needs evidence"),
        ("BAM-C1", exact, {"verdict": "contradicted", "counterexample": WRONG, "corrected": "no"}, "profile paper"),
        ("BAM-T4", exact, {"verdict": "contradicted", "corrected": "no"}, "needs a counterexample"),
        ("BAM-T4", exact, {"verdict": "contradicted", "counterexample": WRONG}, "needs a counterexample"),
        ("BAM-T4", exact, {"verdict": "verified with correction"}, "needs a counterexample"),
        ("BAM-T4", exact, {"counterexample": WRONG}, "use 'verified with correction'"),
        ("BAM-T4", exact, {"outcome": "disagrees"}, "cannot have the outcome"),
        ("BAM-T4", exact, {"measured": None}, "needs measured"),
        ("BAM-T4", exact, {"recipe": None}, "needs a recipe"),
        ("BAM-C1", run, {"outcome": None}, "needs an outcome"),
        ("BAM-C1", run, {"opposite": None}, "needs `opposite`"),
        ("BAM-C1", run, {"evidence": []}, "needs evidence"),
        ("BAM-C1", run, {"verdict": "reproduced"}, "needs profile paper"),
        ("BAM-C1", run, {"verdict": "inconclusive"}, "is undecided"),
        ("BAM-C1", run, {"interval": (1.0, 0.0)}, "interval"),
        ("BAM-C1", run, {"verdict": "not run"}, "carries no result"),
        ("BAM-C1", run, {"verdict": "confirmed"}, "verdict"),
        ("BAM-C1", run, {"note": "copied"}, "note"),
    ],
)
def test_a_verdict_that_says_more_or_less_than_its_evidence_is_refused(known, identifier, build, changes, message):
    with pytest.raises(ValueError, match=message):
        build(known[identifier], **changes)


def test_a_counterexample_has_at_most_five_numbers(known):
    found = {"verdict": "contradicted", "corrected": "no"}
    many = {**WRONG, "inputs": {"x": [1, 2, 3, 4], "y": 1, "z": 0}}
    with pytest.raises(ValueError, match="more than 5 numbers"):
        exact(known["BAM-T4"], **found, counterexample=many)


def test_an_exact_verdict_on_an_empirical_claim_implies_its_outcome(known):
    assert exact(known["BAM-C4"]).outcome == "agrees"
    wrong = {"verdict": "contradicted", "counterexample": WRONG, "corrected": "more"}
    assert exact(known["BAM-C4"], **wrong).outcome == "disagrees"
    assert exact(known["BAM-T4"]).outcome is None


def test_numpy_scalars_and_infinities_become_json(known, tmp_path):
    verdict = exact(known["BAM-T4"], measured=np.float32(0.5), expected_value=float("inf"))
    claims.write_part(tmp_path, "cpu", "field_guide", [verdict], known)
    entry = json.loads((tmp_path / "theory/claims/field_guide.json").read_text())["claims"]["BAM-T4"]
    assert (entry["measured"], entry["expected_value"]) == (0.5, "inf")


def test_a_part_holds_only_the_ids_of_its_notebook(known, tmp_path):
    verdict = exact(known["GOAT-1"])
    with pytest.raises(ValueError, match="GOAT-1 belongs to attention_is_inference"):
        claims.write_part(tmp_path, "cpu", "field_guide", [verdict], known)
    with pytest.raises(ValueError, match=r"unknown claim 'BAM-T5' \(nearest: BAM-T4\)"):
        claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"], id="BAM-T5")], known)
    with pytest.raises(ValueError, match="two verdicts"):
        claims.write_part(tmp_path, "cpu", "attention_is_inference", [verdict, verdict], known)
    with pytest.raises(ValueError, match="profile full, not cpu"):
        claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"], profile="full")], known)
    with pytest.raises(ValueError, match="profile cpu, not theory"):
        claims.write_part(tmp_path, "cpu", "attention_is_inference", [exact(known["GOAT-1"], profile="cpu")], known)
    assert not list(tmp_path.glob("*/claims/*.json"))


def test_what_no_profile_changes_is_written_once(known, tmp_path):
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"])], known)
    assert claims.gather(tmp_path, "full", known)["BAM-T4"].verdict == "verified"
    assert claims.gather(tmp_path, "smoke", known)["BAM-T4"].verdict == "not run"  # which writes below results/smoke
    claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known)
    assert claims.gather(tmp_path, "full", known)["BAM-C1"].verdict == "not run"
    assert {verdict.profile for verdict in claims.merge(tmp_path, "cpu", known).values()} == {"cpu", "theory"}


def test_the_registers_scale_counts_not_the_verdicts(known, tmp_path):
    verdict = exact(known["BAM-C1"].model_copy(update={"scale": "cpu"}))
    with pytest.raises(ValueError, match=r"BAM-C1.*use 'scaled reproduction'"):
        claims.write_part(tmp_path, "cpu", "passkeys", [verdict], known)


def test_the_ledger_holds_results_and_the_register_the_rest(known, tmp_path):
    path = claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known)
    assert not {"statement", "source", "kind", "scale", "notebook"} & set(store.read_json(path)["claims"]["BAM-C1"])
    reworded = {**known, "BAM-C1": known["BAM-C1"].model_copy(update={"statement": "It reaches farther."})}
    row = claims.frame(claims.read(path, reworded), reworded).iloc[0]
    assert (row["statement"], row["notebook"], row["document"]) == ("It reaches farther.", "passkeys", "BAM")


def test_the_ledger_says_how_many_sentences_hold(known, tmp_path):
    found = [("holds", "all cases"), ("fails", "all cases"), ("read", "reading")]
    sentences = [{"text": "a", "found": word, "how": how} for word, how in found]
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"], sentences=sentences)], known)
    ledger = claims.merge(tmp_path, "cpu", known)
    assert claims.read(tmp_path / "cpu" / "claims.json", known) == ledger
    (row,) = [line for line in (tmp_path / "cpu/claims.md").read_text().splitlines() if line.startswith("| BAM-T4 |")]
    assert "| 1 of 2 |" in row


def test_a_second_witness_stands_beside_the_verdict_and_changes_nothing_of_it(known, tmp_path):
    said = [{"text": "it is far", "found": "agrees", "how": "metrics", "note": "a model, 4 documents"}]
    witness = run(known["BAM-T4"], profile="cpu", sentences=said, opposite="f. Not asked: the rest")
    first = [exact(known["BAM-T4"])]
    claims.write_part(tmp_path, "cpu", "field_guide", first, known)
    before = claims.merge(tmp_path, "cpu", known)["BAM-T4"]
    assert "also" not in store.read_json(tmp_path / "cpu/claims.json")["claims"]["BAM-T4"]
    path = claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known, also=[witness])
    assert claims.read(path, known).keys() == {"BAM-C1"} and claims.read(path, known, "also") == {"BAM-T4": witness}
    merged = claims.merge(tmp_path, "cpu", known)
    assert merged["BAM-T4"].also == witness and merged["BAM-T4"].model_copy(update={"also": None}) == before
    assert claims.read(tmp_path / "cpu" / "claims.json", known) == merged
    text = (tmp_path / "cpu/claims.md").read_text()
    line = f"- **BAM-T4**: {witness.outcome}. it is far: agrees (a model, 4 documents). Not asked: the rest\n"
    assert "## Asked of a pretrained model as well\n\n1 of these were measured" in text and line in text
    silent = claims.not_run("BAM-T4", "cpu").model_copy(update={"opposite": "no pretrained model: install one"})
    claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known, also=[silent])
    claims.merge(tmp_path, "cpu", known)
    assert "- **BAM-T4**: not run: no pretrained model: install one\n" in (tmp_path / "cpu/claims.md").read_text()
    with pytest.raises(ValueError, match="BAM-C1 is decided in passkeys itself, which is no second witness"):
        claims.write_part(tmp_path, "cpu", "passkeys", [], known, also=[run(known["BAM-C1"])])


def test_a_merge_always_has_all_ids(known, tmp_path):
    assert set(claims.merge(tmp_path, "cpu", known)) == set(known)
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"])], known)
    claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known)
    merged = claims.merge(tmp_path, "cpu", known)
    content = store.read_json(tmp_path / "cpu" / "claims.json")
    assert set(content["claims"]) == set(known)
    decided = {name for name, entry in content["claims"].items() if entry["verdict"] != "not run"}
    assert decided == {"BAM-T4", "BAM-C1"}
    assert claims.read(tmp_path / "cpu" / "claims.json", known) == merged
    text = (tmp_path / "cpu" / "claims.md").read_text()
    assert all(f"| {name} |" in text for name in known)


def test_two_merges_give_the_same_bytes(known, tmp_path):
    verdicts = [exact(known[name]) for name in ("BAM-T4b", "BAM-T4")]
    claims.write_part(tmp_path, "cpu", "field_guide", verdicts, known)
    claims.merge(tmp_path, "cpu", known)
    before = (tmp_path / "cpu/claims.json").read_bytes(), (tmp_path / "cpu/claims.md").read_bytes()
    claims.write_part(tmp_path, "cpu", "field_guide", verdicts[::-1], known)
    claims.merge(tmp_path, "cpu", known)
    assert before == ((tmp_path / "cpu/claims.json").read_bytes(), (tmp_path / "cpu/claims.md").read_bytes())


def test_an_altered_or_truncated_part_stops_the_merge(known, tmp_path):
    path = claims.write_part(tmp_path, "cpu", "passkeys", [run(known["BAM-C1"])], known)
    whole = path.read_text()
    for broken, message in (
        (whole.replace('"scaled reproduction"', '"verified"'), "BAM-C1.*'verified'"),
        (whole.replace('"outcome": "agrees"', '"outcome": null'), "needs an outcome"),
        (whole.replace('"profile": "cpu"', '"profile": "full"'), "run both again"),
        (whole.replace("BAM-C1", "GOAT-1"), "GOAT-1"),
        (whole[: len(whole) // 2], "passkeys.json"),
        ("[]", "is no ledger"),
    ):
        path.write_text(broken)
        with pytest.raises(ValueError, match=message):
            claims.merge(tmp_path, "cpu", known)


def test_counts_have_a_column_for_every_verdict(known, tmp_path):
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"])], known)
    table = claims.counts(claims.frame(claims.gather(tmp_path, "cpu", known), known), "document").set_index("document")
    assert list(table.columns) == [*claims.VERDICTS, "total"]
    assert table.loc["BAM", "verified"] == 1 and table.loc["total", "total"] == len(known)


def test_missing_ids_are_those_of_scale_cpu_without_a_verdict(known, tmp_path):
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"])], known)
    assert claims.missing(claims.gather(tmp_path, "cpu", known), known) == ["BAM-T4b", "BAM-C4", "GOAT-1"]
    assert "papers' own scale" in claims.reason(known["X-3"])
    assert claims.reason(known["GOAT-1"]).endswith("has given no verdict") or "not written" in claims.reason(
        known["GOAT-1"]
    )


def test_the_command_exits_with_one_while_something_is_missing(tmp_path, capsys):
    claims.merge(tmp_path, "cpu")
    assert __main__.main([str(tmp_path / "cpu" / "claims.json")]) == 1
    shown = capsys.readouterr().out
    assert "MISSING  BAM-T4: generalised_gaussian" in shown
    assert f"{len(claims.register())} claims" in shown and "theorem" in shown


def test_nothing_is_missing_in_the_committed_ledger(capsys):
    assert __main__.main([str(config.ROOT / "results" / "cpu" / "claims.json")]) == 0
    assert "stale" not in capsys.readouterr().out


def test_statements_of_ours_are_those_that_join_documents_corrections_and_additions():
    ours = {name for name, claim in claims.register().items() if claim.ours and claim.document != "X"}
    added = {"GOAT-T5.1t", "OPG-19", "PC-PRIOR", "PE-SAND2"}
    assert ours == {"BAM-T4b", "PC-TA.2x", "PC-TA.3x"} | added and claims.find("X-3").ours


def test_the_readme_says_what_was_found_as_the_committed_results_have_it(tmp_path):
    found, path = Committed(config.ROOT / "results", "cpu"), tmp_path / "README.md"
    shutil.copy(config.ROOT / "README.md", path)
    assert not readme.refresh(found, path), "run make figures"
    text = path.read_text()
    path.write_text(text.replace("1. ", "1. It was said that "))
    assert readme.refresh(found, path) and path.read_text() == text
    path.write_text(text.replace(readme.END, ""))
    with pytest.raises(ValueError, match=r"README\.md needs .*once each; restore it"):
        readme.refresh(found, path)


def test_all_notebooks_of_profile_full_are_committed():
    there = {path.stem for path in (config.ROOT / "results" / "full" / "notebooks").glob("*.ipynb")}
    assert there == {name for name, row in NOTEBOOKS.items() if row.trained}


def test_the_last_verdict_of_the_history_is_the_ledgers():
    committed = claims.read(config.ROOT / "results" / "cpu" / "claims.json")
    last = claims.history().drop_duplicates("id", keep="last").set_index("id")["verdict"].to_dict()
    assert {name: committed[name].verdict for name in last} == last


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("BAM-T44,2026-01-01,verified,why\n", "nearest: BAM-T4"),
        ("BAM-T4,1 May,verified,why\n", "line 2: BAM-T4 needs a date"),
        ("BAM-T4,2026-01-01,true,why\n", "line 2: BAM-T4 needs"),
        ("BAM-T4,2026-01-02,verified,why\nBAM-T4,2026-01-01,contradicted, \n", "line 3: BAM-T4 needs"),
        ("BAM-T4,2026-01-02,verified,why\nBAM-T4,2026-01-01,contradicted,why\n", "order of its dates"),
    ],
)
def test_a_broken_history_is_refused_in_one_line(tmp_path, rows, message):
    path = tmp_path / "verdicts.csv"
    path.write_text("id,date,verdict,reason\n" + rows)
    with pytest.raises(ValueError, match=message):
        claims.history(path)
    path.write_text("id,verdict\n")
    with pytest.raises(ValueError, match="give id, date, verdict, reason"):
        claims.history(path)


def test_what_changed_since_an_older_ledger_is_listed_with_its_reason(tmp_path, monkeypatch, capsys):
    def ledger(name, **verdicts):
        path = tmp_path / name
        path.write_text(json.dumps({"claims": {id_.replace("_", "-"): each for id_, each in verdicts.items()}}))
        return path

    path = tmp_path / "verdicts.csv"
    path.write_text("id,date,verdict,reason\nBAM-T4,2026-01-01,contradicted,a case\n")
    found = claims.history(path)
    monkeypatch.setattr(claims, "history", lambda: found)
    old = ledger("old.json", BAM_T4={"verdict": "verified"}, BAM_X1={"verdict": "inconclusive", "outcome": "undecided"})
    new = {"BAM_T4": {"verdict": "contradicted"}, "BAM_X1": {"verdict": "inconclusive", "outcome": "agrees"}}
    assert __main__.main([str(ledger("new.json", **new)), "--before", str(old)]) == 0
    told = capsys.readouterr().out
    assert "BAM-T4: verified -> contradicted: a case" in told and "0 without a reason" in told
    silent = new | {"BAM_D3": {"verdict": "verified"}}
    assert __main__.main([str(ledger("silent.json", **silent)), "--before", str(old)]) == 1
    assert "BAM-D3: not run -> verified: NO REASON" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["[]", "{", '{"claims": {"BAM-T4": 3}}', None])
def test_what_is_no_ledger_is_refused_in_one_line(tmp_path, capsys, text):
    path = tmp_path / "claims.json"
    if text is not None:
        path.write_text(text)
    assert __main__.main(["--before", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "name a claims.json" in line


def test_a_claim_shows_its_history(tmp_path, monkeypatch, capsys):
    path = tmp_path / "verdicts.csv"
    path.write_text("id,date,verdict,reason\nBAM-T4,2026-01-01,verified,why\nBAM-T4,2026-02-01,contradicted,a case\n")
    found = claims.history(path)
    assert found["verdict"].tolist() == ["verified", "contradicted"]
    claims.merge(tmp_path, "cpu")
    monkeypatch.setattr(claims, "history", lambda: found)
    monkeypatch.setattr(__main__, "figures_of", lambda *_: [])
    assert __main__.main(["--id", "BAM-T4", "--results", str(tmp_path)]) == 0
    assert "2026-01-01 verified: why\n                2026-02-01 contradicted: a case" in capsys.readouterr().out


def test_a_claim_shows_its_sentences_and_files_that_are_there(capsys):
    assert __main__.main(["--id", "PE-BIAS", "--profile", "full", "--results", str(config.ROOT / "results")]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^sentences: +\w+: RoPE with bias grows less beyond T than RoPE$", shown, re.M)
    files = re.findall(r"\S+/results/full/(?:metrics|figures)/\S+\.(?:csv|xz|png)", shown)
    assert {Path(name).suffix for name in files} == {".xz", ".png"} and all(Path(name).is_file() for name in files)


def test_a_claim_leads_to_its_cells(tmp_path, monkeypatch, capsys):
    cells = [
        ("intro", "markdown", "PE-F5b only"),
        ("check", "code", 'CHECKS["PE-F5"]'),
        ("end", "markdown", "PE-F5."),
    ]
    content = {"cells": [{"id": name, "cell_type": kind, "source": [text]} for name, kind, text in cells]}
    path = tmp_path / "notebooks" / file_name("needles")
    path.parent.mkdir()
    path.write_text(json.dumps(content))
    assert __main__.cells_of("PE-F5", path) == ["check", "end"]
    claims.merge(tmp_path, "cpu")
    (tmp_path / "data").symlink_to(config.ROOT / "data")
    monkeypatch.setattr(config, "ROOT", tmp_path)
    assert __main__.main(["--id", "PE-F5", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "not run" in shown and "cells check, end" in shown and "figure, scale cpu-small" in shown
    place = re.search(r"^check: +lib/(attention_priors/checks/\S+):(\d+)$", shown, re.M)
    assert "PE-F5" in (LIBRARY / place[1]).read_text().splitlines()[int(place[2]) - 1]
    place = re.search(r"(lib/attention_priors/figures/\S+):\d+  (\S+algorithm_accuracy.pdf)$", shown, re.M)
    assert (LIBRARY.parent / place[1]).is_file() and place[2] == str(tmp_path / "cpu/figures/algorithm_accuracy.pdf")


def test_an_id_is_listed_once_and_a_module_holds_what_its_row_says():
    with pytest.raises(ValueError, match=r"lists BAM-T4 under prior.start and under attention.kernel; keep one"):
        Checks({"prior.start": "BAM-T4", "attention.kernel": "X-17 BAM-T4"}, {})
    with pytest.raises(ValueError, match=r"language/recipe.py has no claim 'BAM-T4'; correct the row"):
        Checks({"language.recipe": "BAM-ALG1 BAM-T4"}, {})["BAM-T4"]
    with pytest.raises(ValueError, match=r"checks/language/scale.py decides X-35, which its row .* lacks; add it"):
        Checks({"language.scale": "X-34"}, {})["X-34"]


def test_the_table_lists_claims_of_the_register_and_every_row_opens():
    assert set(CHECKS) <= set(claims.register())
    assert all(check.id == name for name, check in CHECKS.items())


def test_listing_the_checks_of_a_notebook_opens_no_other_module():
    code = "import sys; from attention_priors.checks import belonging; print(*belonging('longer_rotations')); "
    code += "print(*(name for name in sys.modules if name.startswith('attention_priors.checks.')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    ids, modules = shown.splitlines()
    assert ids.split() == ["PE-NTK", "PE-DNTK", "PE-PNTK"]
    assert len(modules.split()) == 4 and all(".checks.derived" in name for name in modules.split())  # three cells


def test_a_corrected_statement_is_found_wanting_and_a_silent_witness_measured_nothing(known, tmp_path):
    wanting = {"verdict": "verified with correction", "counterexample": WRONG, "corrected": "less"}
    claims.write_part(tmp_path, "cpu", "field_guide", [exact(known["BAM-T4"], **wanting)], known)
    silent = {"verdict": "inconclusive", "outcome": "undecided", "measured": "not measured", "profile": "cpu"}
    claims.write_part(tmp_path, "cpu", "passkeys", [], known, also=[run(known["BAM-T4"], **silent)])
    merged = claims.merge(tmp_path, "cpu", known)
    text = (tmp_path / "cpu/claims.md").read_text()
    assert "- **BAM-T4** (verified with correction; BAM paper)" in text and "\n0 of these were measured" in text
    assert claims.frame(merged, known).set_index("id").loc["BAM-T4", "also"] == "undecided"


def test_a_correction_of_ours_is_counted_with_ours(known):
    ours = {"BAM-T4": known["BAM-T4"].model_copy(update={"source": "BAM paper, corrected"})}
    assert claims.frame({"BAM-T4": claims.not_run("BAM-T4", "cpu")}, ours)["document"].tolist() == ["X"]
