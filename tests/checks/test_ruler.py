"""The judge of RULER's tasks on made-up worlds, and the sentences about Tables 3 and 4."""

import functools
import itertools
import math

import pandas as pd
import pytest

from attention_priors import claims
from attention_priors.checks import CHECKS, belonging
from attention_priors.checks.ruler import tasks as ruler
from attention_priors.checks.ruler.tasks import RULER
from attention_priors.experiments import needles
from attention_priors.tasks.needle_text import TASKS

TRAINED, SAMPLES = 200, 20
ENCODINGS = ("bam-ssmax", *ruler.TABLE_3, needles.UNTRAINED)
CHECK = CHECKS["BAM-D8"]


def as_printed(task, name, multiple):
    """Everyone answers up to the training length, BAM SSMax at all lengths, RoPE SSMax at twice the training length."""
    reach = {needles.UNTRAINED: 0, "bam-ssmax": math.inf, "rope-ssmax": 2}
    return float(multiple <= reach.get(name, 1))


def turned(task, name, multiple):
    """The untrained model answers, and so does ALiBi; BAM and RoPE up to the training length alone."""
    return float(multiple <= 1 or name in (needles.UNTRAINED, "alibi-ssmax", "nope-ssmax"))


def level(task, name, multiple):
    """All trained models answer everything."""
    return float(name != needles.UNTRAINED)


@functools.lru_cache(maxsize=32)
def frames(rule, seeds=3, longest=16, names=ENCODINGS):
    """The metrics of models that answer a share rule(task, encoding, multiple) of the prompts."""
    rows = []
    multiples = [0.75, *(2**k for k in range(longest.bit_length()))]
    for task, name, seed, multiple in itertools.product(RULER, names, range(seeds), multiples):
        required = needles.required(task)
        right = round(rule(task, name, multiple) * SAMPLES) * required
        rows.append(
            {
                "task": task,
                "encoding": name,
                "seed": seed,
                "length": int(multiple * TRAINED),
                "right": right,
                "required": required,
                "samples": SAMPLES,
                "asked": True,
                "trained": TRAINED,
                "steps": 500,
            }
        )
    read = []
    for (task, row), multiple, _ in itertools.product(RULER.items(), multiples, range(SAMPLES)):
        haystack, key, value, keys, values, queries = row
        length = int(multiple * TRAINED)
        read.append(
            {
                "task": task,
                "seed": 0,
                "length": length,
                "tokens": length + 1,
                "haystack": haystack,
                "key": key,
                "value": value,
                "keys": keys or 5,
                "values": values,
                "queries": queries,
                "stated": True,
            }
        )
    made = pd.DataFrame(rows)
    return {"ruler_answers": made, "ruler_gates": needles.gates(made), "ruler_readings": pd.DataFrame(read)}


def outcome(made):
    return CHECK.verdict("cpu", made).outcome


def outcomes(name, rule, **world):
    return ruler.SMALL[name].frame(frames(rule, **world))["found"].tolist()


def test_the_notebook_decides_the_protocol_and_leaves_large_models_alone():
    assert {name for name in belonging("needles") if name.startswith("BAM-")} == {"BAM-D8"}
    owned = {name: claim.scale for name, claim in claims.register().items() if claim.notebook == "needles"}
    assert owned["BAM-D8"] == "cpu-small"
    assert {owned[name] for name in ("BAM-TAB3", "BAM-TAB4", "BAM-C24")} == {"paper"}
    assert not set(ruler.SMALL) & set(CHECKS)


def test_ruler_s_table_is_that_of_the_generator():
    assert set(RULER) == set(needles.NEEDLES)
    for name, (haystack, key, value, keys, values, queries) in RULER.items():
        row = TASKS[name]
        assert (row.haystack, row.key, row.value, row.values, row.queries) == (haystack, key, value, values, queries)
        assert keys in (None, row.keys) and (keys is None) == (haystack == "needles")


def test_worlds_where_the_protocol_works_and_where_it_does_not():
    assert outcome(frames(as_printed)) == outcome(frames(level)) == "agrees"
    assert outcome(frames(turned)) == "disagrees", "the untrained model answers"
    assert outcome(frames(lambda task, name, multiple: 0.0)) == "undecided", "nobody learned anything"
    assert outcome(frames(as_printed, seeds=1)) == "undecided"


def test_three_encodings_that_learned_a_task_say_nothing_about_it():
    few = frames(as_printed, names=(*ENCODINGS[:3], needles.UNTRAINED))
    found = CHECK.frame(few)
    assert found["found"].tolist() == ["agrees", "undecided", "agrees"]
    assert found["note"].iloc[1] == "0.8 is our bound; not measured, or its gate missed"
    assert set(ruler.compared(few)["found"]) == {"undecided"}


@pytest.mark.parametrize(
    "column, value, task",
    [
        ("haystack", "noise", "single-2"),
        ("key", "words", "multikey-3"),
        ("value", "mixed", "single-3"),
        ("keys", 3, "multiquery"),
        ("keys", 1, "multikey-2"),
        ("values", 3, "multivalue"),
        ("queries", 1, "multiquery"),
        ("stated", False, "single-1"),
        ("tokens", TRAINED, "multikey-1"),
    ],
)
def test_prompts_that_are_not_ruler_s_are_found(column, value, task):
    made = frames(as_printed)
    read = made["ruler_readings"].copy()
    read.loc[read["task"] == task, column] = value
    assert outcome({**made, "ruler_readings": read}) == "disagrees"
    one = made["ruler_readings"].copy()
    one.loc[one.index[one["task"] == task][0], column] = value
    assert ruler.as_ruler_says(one).sum() == len(one) - 1


def test_a_task_that_was_not_read_leaves_it_open():
    made = frames(as_printed)
    read = made["ruler_readings"]
    assert outcome({**made, "ruler_readings": read[read["task"] != "multikey-3"]}) == "undecided"


def test_table_3():
    assert outcomes("BAM-TAB3", as_printed) == ["agrees"] * 6
    assert outcomes("BAM-TAB3", turned)[:3] == ["disagrees"] * 3
    assert outcomes("BAM-TAB3", turned)[-1] == "disagrees", "RoPE is behind ALiBi"
    short = outcomes("BAM-TAB3", as_printed, longest=8)
    assert short[4] == "undecided" and short[:4] == ["agrees"] * 4, "12 T was not tested"


def test_table_4():
    assert outcomes("BAM-TAB4", as_printed) == ["agrees"] * 8
    assert outcomes("BAM-TAB4", level) == ["undecided"] * 8, "a tie is no lead, and excludes none"
    worse = outcomes("BAM-TAB4", lambda task, name, multiple: float(name == "rope-ssmax" or multiple <= 1))
    assert worse == ["disagrees"] * 8


@pytest.mark.parametrize("name", ["BAM-TAB3", "BAM-TAB4"])
def test_who_has_not_learned_a_task_decides_nothing_about_it(name):
    def unlearned(task, encoding, multiple):
        return as_printed(task, encoding, multiple) * (encoding != "rope-ssmax" or multiple > 0.75)

    found = ruler.SMALL[name].frame(frames(unlearned))
    about_rope = found[found["statement"].str.contains("RoPE SSMax leads") | (name == "BAM-TAB4")]
    assert len(about_rope) and set(about_rope["found"]) == {"undecided"}
    assert set(outcomes(name, as_printed, seeds=1)) == {"undecided"}


def test_every_trained_encoding_is_compared_on_every_task():
    found = ruler.compared(frames(as_printed))
    assert len(found) == len(RULER) * (len(ENCODINGS) - 2) and set(found["found"]) == {"agrees"}
    assert "smaller than 0.05" in ruler.compared(frames(level, seeds=60))["note"].iloc[0]


@pytest.mark.parametrize("kept", [("bam-ssmax",), ("rope-ssmax",)])
def test_missing_encodings_are_no_error(kept):
    made = frames(as_printed, names=(*kept, needles.UNTRAINED))
    for check in ruler.SMALL.values():
        assert set(check.frame(made)["found"]) == {"undecided"}


def test_the_ledger_takes_the_verdict(tmp_path):
    verdict = CHECK.verdict("cpu", frames(as_printed))
    read = claims.read(claims.write_part(tmp_path, "cpu", "needles", [verdict]))["BAM-D8"]
    assert (read.verdict, read.outcome, read.recipe) == ("scaled reproduction", "agrees", "passkey-small")
    assert read.opposite and read.evidence == [f"metrics/ruler_{name}.csv" for name in ("readings", "answers", "gates")]
