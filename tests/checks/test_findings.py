"""What is found in the committed frames: it is what the ledger says, and less where they lack what it rests on."""

import html
import json
import re

import pytest

from attention_priors import claims
from attention_priors.checks import ALSO, CHECKS
from attention_priors.claims.finding import Finding
from attention_priors.publish.verify import same
from checks.committed import RESULTS, frame, frames, outcomes

DIGITS = 1e-6  # of another machine others may differ
ROUNDED = ("GOAT-P3.1b",)  # its example is of float32, with other last digits elsewhere
PARTS = [
    (folder, path.stem, what)
    for folder in ("theory", "cpu", "full")
    for path in sorted((RESULTS / folder / "claims").glob("*.json"))
    for what in ("claims", "also")
    if what == "claims" or claims.read(path, what=what)
]


@pytest.mark.beyond
@pytest.mark.parametrize(("folder", "notebook", "what"), PARTS)
def test_the_committed_ledger_is_what_the_checks_say_today(folder, notebook, what):
    """Evidence is the notebook's; what a law measures of what rounding leaves is another number elsewhere."""
    table = CHECKS if what == "claims" else ALSO
    for name, told in claims.read(RESULTS / folder / "claims" / f"{notebook}.json", what=what).items():
        if told.verdict == "not run":
            continue
        read = {metric: frame(metric, "cpu" if folder == "theory" else folder) for metric in table[name].metrics}
        old, new = (each.model_dump(mode="json") for each in (told, table[name].verdict(told.profile, read)))
        compared = ["verdict", "outcome", "severity", "corrected", "sentences", "seeds", "counterexample", "opposite"]
        compared += ["relation", "expected_value", "measured", "interval"] if read else []
        assert [(name, part) for part in compared if not same(old[part], new[part], DIGITS)] == []


@pytest.mark.beyond
@pytest.mark.parametrize(("folder", "notebook", "what"), PARTS)
def test_every_row_of_a_check_stands_in_the_executed_notebook(folder, notebook, what):
    """All numbers of all sentences, those too that decide nothing; but what rounding leaves of a law is another."""
    copy = json.loads((RESULTS / folder / "notebooks" / f"{notebook}.ipynb").read_text(encoding="utf-8"))
    outputs = [each.get("data", {}) for cell in copy["cells"] for each in cell.get("outputs", [])]
    page = html.unescape("".join("".join(each.get("text/html", "")) for each in outputs))
    shown, table = set(re.findall("<td>(.*?)</td>", page, re.DOTALL)), CHECKS if what == "claims" else ALSO
    for name, told in claims.read(RESULTS / folder / "claims" / f"{notebook}.json", what=what).items():
        if told.verdict != "not run":
            read = {metric: frame(metric, "cpu" if folder == "theory" else folder) for metric in table[name].metrics}
            rows = table[name].frame(read).to_dict("records")
            laws = ("measured", "counterexample") if name in ROUNDED else ("measured",)
            cells = [v for row in rows for k, v in row.items() if k not in laws or row.get("95 % interval")]
            assert [(name, each) for each in cells if str(each) not in shown] == []


EMPIRICAL = [name for name, check in CHECKS.items() if check.metrics]
# By claim the sentences that no model decides: counts of prompts, of windows, of heads that exist, times of a machine.
WITHOUT_SEEDS = {"BAM-D8": (0,), "GOAT-F4": (2, 3, 4), "GOAT-C-8": (2,), "PC-CQ1": (1,), "PC-F3": (0,), "X-11": (0,),
                 "X-36": range(5)}  # fmt: skip
UNGATED = {"BAM-D8": (0, 2), "GOAT-F4": (2, 3, 4), "GOAT-C-8": (2,), "OPG-19": (2,), "X-11": (0,), "X-27": (2,),
           "X-36": (4,)}  # fmt: skip
HITS = ("correct", "right", "digits", "early_digits")
GATES = ("passed", "copied")


def gone(rows):
    """Of models that answered nothing and missed their gate."""
    return rows.assign(**{name: 0 for name in HITS if name in rows}, **{name: False for name in GATES if name in rows})


@pytest.mark.parametrize("name", EMPIRICAL)
def test_one_seed_and_models_that_missed_their_gate_decide_nothing(name):
    read = frames(name)
    if any("seed" in rows for rows in read.values()):
        one = {key: rows[rows["seed"] == rows["seed"].min()] if "seed" in rows else rows for key, rows in read.items()}
        found = [each for k, each in enumerate(outcomes(name, one)) if k not in WITHOUT_SEEDS.get(name, ())]
        assert set(found) <= {"undecided"}
    if any(column in rows for rows in read.values() for column in HITS + GATES):
        judged = CHECKS[name].judged({key: gone(rows) for key, rows in read.items()})
        judged = [each for k, each in enumerate(judged) if k not in UNGATED.get(name, ())]
        assert all(each.outcome == "undecided" and each.note for each in judged)


FAR = [name for name in EMPIRICAL if any("to 64T" in each.text for each in CHECKS[name]._of(Finding))]


@pytest.mark.parametrize("name", FAR)
def test_what_was_asked_up_to_four_times_t_is_not_level_up_to_64(name):
    near = {
        key: rows[rows["length"] <= 4 * rows["trained"]] if "trained" in rows and "length" in rows else rows
        for key, rows in frames(name).items()
    }
    for each in CHECKS[name].judged(near):
        assert "to 64T" not in each.finding.text or each.outcome != "agrees", each.finding.text


def test_arms_that_a_profile_lacks_are_named():
    """By claim an encoding that it speaks of, and how a note calls it."""
    for name, metric, column, arm, said in (
        ("BAM-F2", "passkey_by_length", "encoding", "rope-ssmax", "not in this profile: rope-ssmax"),
        ("BAM-C3", "ablation_priors", "study", "sign", "the study of sign is not in this profile"),
        ("PE-C2", "language_readings", "encoding", "t5-quarter", "not in this profile: T5 buckets"),
        ("PC-MINI", "parallel_by_length", "method", "yarn", "not in this profile: YaRN"),
        ("GOAT-E.3", "goat_offset_totals", "encoding", "goat-rope", "not in this profile: goat-rope"),
        ("GOAT-F4", "genomes_losses", "encoding", "goat-composite", "Goat composite not in this profile"),
        ("GOAT-F5", "resolution_answers", "encoding", "goat-2d", "not in this profile: goat-2d"),
        ("OPG-19", "groups_pucks", "encoding", "alibi", "alibi was not trained"),
    ):
        rows = frame(metric)
        told = CHECKS[name].judged(frames(name, **{metric: rows[rows[column] != arm]}))
        assert any(said in each.note for each in told), name
