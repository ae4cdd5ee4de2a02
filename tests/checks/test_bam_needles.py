"""The judge of notebook 11 on made-up worlds, and the sentences about Tables 3 and 4."""

import functools
import itertools

import pandas as pd
import pytest

from attention_priors import claims
from attention_priors.checks import CHECKS, bam_needles, belonging
from attention_priors.checks.bam_needles import RULER
from attention_priors.experiments import needles
from attention_priors.tasks.needle_text import TASKS

TRAINED, SAMPLES = 200, 12
ENCODINGS = ("bam-ssmax", *bam_needles.TABLE_3, needles.UNTRAINED)


@functools.lru_cache(maxsize=32)
def frames(rule, seeds=3, longest=16):
    """The metrics of models that answer a share rule(task, encoding, multiple) of the prompts."""
    rows = []
    multiples = [2**k for k in range(longest.bit_length())]
    for task, name, seed, multiple in itertools.product(TASKS, ENCODINGS, range(seeds), multiples):
        required = needles.required(task)
        right = round(rule(task, name, multiple) * SAMPLES) * required
        rows.append({"task": task, "encoding": name, "seed": seed, "length": multiple * TRAINED, "right": right,
                     "required": required, "samples": SAMPLES, "asked": True, "trained": TRAINED})  # fmt: skip
    read = []
    for (task, row), multiple, _ in itertools.product(RULER.items(), multiples, range(SAMPLES)):
        haystack, key, value, keys, values, queries = row
        read.append({"task": task, "seed": 0, "length": multiple * TRAINED, "tokens": multiple * TRAINED + 1,
                     "haystack": haystack, "key": key, "value": value, "keys": keys or 5, "values": values,
                     "queries": queries, "stated": True})  # fmt: skip
    return {"ruler_answers": pd.DataFrame(rows), "ruler_readings": pd.DataFrame(read)}


def outcome(made):
    return CHECKS["BAM-D8"].judge(made).outcome


def outcomes(claim, rule, **world):
    return [found.outcome for found in bam_needles.SENTENCES[claim](frames(rule, **world))]


def test_the_notebook_decides_the_protocol_and_leaves_large_models_alone():
    assert {name for name in belonging("needles") if name.startswith("BAM-")} == {"BAM-D8"}
    owned = {name: claim.scale for name, claim in claims.register().items() if claim.notebook == "needles"}
    assert owned["BAM-D8"] == "cpu-small"
    assert {owned[name] for name in ("BAM-TAB3", "BAM-TAB4", "BAM-C24")} == {"paper"}


def test_ruler_s_table_is_that_of_the_generator():
    assert set(RULER) == set(needles.NEEDLES)
    for name, (haystack, key, value, keys, values, queries) in RULER.items():
        row = TASKS[name]
        assert (row.haystack, row.key, row.value, row.values, row.queries) == (haystack, key, value, values, queries)
        assert keys in (None, row.keys) and (keys is None) == (haystack == "needles")


def test_worlds_where_the_protocol_works_and_where_it_does_not():
    assert outcome(frames(bam_needles.as_printed)) == outcome(frames(bam_needles.level)) == "agrees"
    assert outcome(frames(bam_needles.turned)) == "disagrees", "the untrained model answers"
    assert outcome(frames(lambda task, name, multiple: 0.0)) == "disagrees", "nobody answers"
    assert outcome(frames(bam_needles.as_printed, seeds=1)) == "undecided"
    assert outcome(frames(lambda task, name, multiple: 0.8 * (name != needles.UNTRAINED))) == "undecided"


@pytest.mark.parametrize("rule", [bam_needles.as_printed, bam_needles.turned, lambda task, name, multiple: 0.5])
def test_flipped_numbers_change_the_answer(rule):
    made = frames(rule)
    before = made["ruler_answers"].copy()
    assert outcome(made) != outcome(CHECKS["BAM-D8"].flip(made))
    pd.testing.assert_frame_equal(made["ruler_answers"], before)


@pytest.mark.parametrize(
    "column, value, task",
    [("haystack", "noise", "single-2"), ("key", "words", "multikey-3"), ("value", "mixed", "single-3"),
     ("keys", 3, "multiquery"), ("keys", 1, "multikey-2"), ("values", 3, "multivalue"), ("queries", 1, "multiquery"),
     ("stated", False, "single-1"), ("tokens", TRAINED, "multikey-1")],
)  # fmt: skip
def test_prompts_that_are_not_ruler_s_are_found(column, value, task):
    made = frames(bam_needles.as_printed)
    read = made["ruler_readings"].copy()
    read.loc[read["task"] == task, column] = value
    assert outcome({**made, "ruler_readings": read}) == "disagrees"
    one = made["ruler_readings"].copy()
    one.loc[one.index[one["task"] == task][0], column] = value
    assert bam_needles.as_ruler_says(one).sum() == len(one) - 1


def test_a_task_that_was_not_read_leaves_it_open():
    made = frames(bam_needles.as_printed)
    read = made["ruler_readings"]
    assert outcome({**made, "ruler_readings": read[read["task"] != "multikey-3"]}) == "undecided"


def test_table_3():
    assert outcomes("BAM-TAB3", bam_needles.as_printed) == ["agrees"] * 6
    assert outcomes("BAM-TAB3", bam_needles.turned)[:3] == ["disagrees"] * 3
    assert outcomes("BAM-TAB3", bam_needles.turned)[-1] == "disagrees", "RoPE is behind ALiBi"
    assert outcomes("BAM-TAB3", bam_needles.level)[:3] == ["disagrees"] * 3, "a tie is no lead"
    short = outcomes("BAM-TAB3", bam_needles.as_printed, longest=8)
    assert short[4] == "undecided" and short[:4] == ["agrees"] * 4, "12 T was not tested"


def test_table_4():
    assert outcomes("BAM-TAB4", bam_needles.as_printed) == ["agrees"] * 8
    assert outcomes("BAM-TAB4", bam_needles.level) == ["disagrees"] * 8
    worse = outcomes("BAM-TAB4", lambda task, name, multiple: float(name == "rope-ssmax" or multiple <= 1))
    assert worse == ["disagrees"] * 8


@pytest.mark.parametrize("claim", ["BAM-TAB3", "BAM-TAB4"])
def test_who_has_not_learned_a_task_decides_nothing_about_it(claim):
    def unlearned(task, name, multiple):
        return (
            0.5 * bam_needles.as_printed(task, name, multiple) if name == "rope-ssmax" else float(name == "bam-ssmax")
        )

    found = bam_needles.SENTENCES[claim](frames(unlearned))
    about_rope = [each for each in found if "rope-ssmax" in each.text or claim == "BAM-TAB4"]
    assert about_rope and all(each.outcome == "undecided" for each in about_rope)
    assert set(outcomes(claim, lambda task, name, multiple: 0.0)) <= {"undecided", "disagrees"}


@pytest.mark.parametrize("claim", ["BAM-TAB3", "BAM-TAB4"])
def test_one_seed_decides_nothing(claim):
    assert set(outcomes(claim, bam_needles.as_printed, seeds=1)) == {"undecided"}


@pytest.mark.parametrize("kept", [("bam-ssmax",), ("rope-ssmax",), ("bam-ssmax", "rope-ssmax")])
def test_missing_encodings_are_no_error(kept):
    made = frames(bam_needles.as_printed)
    rows = made["ruler_answers"]
    made = {**made, "ruler_answers": rows[rows["encoding"].isin([*kept, needles.UNTRAINED])]}
    shown = bam_needles.sentences(made)
    assert list(shown["claim"].unique()) == list(bam_needles.SENTENCES)
    if len(kept) == 1:
        assert set(shown[shown["claim"] == "BAM-TAB4"]["outcome"]) == {"undecided"}


def test_the_ledger_takes_the_verdict(tmp_path):
    verdict = CHECKS["BAM-D8"].verdict("cpu", frames(bam_needles.as_printed))
    read = claims.read(claims.write_part(tmp_path, "cpu", "needles", [verdict]))["BAM-D8"]
    assert (read.verdict, read.outcome, read.recipe) == ("scaled reproduction", "agrees", "passkey-small")
    assert read.opposite and read.evidence == ["metrics/ruler_readings.csv", "metrics/ruler_answers.csv"]
