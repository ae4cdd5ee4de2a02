"""The judge of RULER's tasks: prompts that are not RULER's, and the sentences about Tables 3 and 4, in no ledger."""

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.ruler import tasks as ruler
from attention_priors.checks.ruler.tasks import RULER
from attention_priors.experiments import needles
from attention_priors.tasks.needle_text import TASKS
from checks.committed import frame, frames, outcomes

TRAINED, SAMPLES = 200, 20
ENCODINGS = ("bam-ssmax", *ruler.TABLE_3, needles.UNTRAINED)


def as_printed(name, multiple):
    """Everyone answers up to the training length, BAM SSMax at all lengths, RoPE SSMax at twice the training length."""
    reach = {needles.UNTRAINED: 0, "bam-ssmax": math.inf, "rope-ssmax": 2}
    return float(multiple <= reach.get(name, 1))


def turned(name, multiple):
    """The untrained model answers, and so does ALiBi; BAM and RoPE up to the training length alone."""
    return float(multiple <= 1 or name in (needles.UNTRAINED, "alibi-ssmax", "nope-ssmax"))


def level(name, multiple):
    """All trained models answer everything."""
    return float(name != needles.UNTRAINED)


@functools.lru_cache(maxsize=32)
def world(rule, seeds=3, longest=16, names=ENCODINGS):
    """The metrics of models that answer a share rule(encoding, multiple) of the prompts of every task."""
    multiples = [0.75, *(2**k for k in range(longest.bit_length()))]
    cases = list(itertools.product(RULER, names, range(seeds), multiples))
    made = pd.DataFrame(cases, columns=["task", "encoding", "seed", "multiple"])
    share = np.array([rule(name, multiple) for _, name, _, multiple in cases])
    required = made["task"].map(needles.required)
    made = made.assign(length=(made["multiple"] * TRAINED).astype(int), right=share * SAMPLES * required)
    made = made.assign(required=required, samples=SAMPLES, asked=True, trained=TRAINED, steps=500)
    return {"ruler_answers": made, "ruler_gates": needles.gates(made)}


def small(name, rule, **given):
    return ruler.SMALL[name].frame(world(rule, **given))["found"].tolist()


def test_ruler_s_table_is_that_of_the_generator():
    assert set(RULER) == set(needles.NEEDLES) and not set(ruler.SMALL) & set(CHECKS)
    for name, (haystack, key, value, keys, values, queries) in RULER.items():
        row = TASKS[name]
        assert (row.haystack, row.key, row.value, row.values, row.queries) == (haystack, key, value, values, queries)
        assert keys in (None, row.keys) and (keys is None) == (haystack == "needles")


def test_three_encodings_that_learned_a_task_say_nothing_about_it():
    few = world(as_printed, names=(*ENCODINGS[:3], needles.UNTRAINED))
    given = frames("BAM-D8", **few)
    assert outcomes("BAM-D8", given) == ["agrees", "undecided", "agrees"]
    assert set(ruler.compared(few)["found"]) == {"undecided"}
    assert outcomes("BAM-D8", frames("BAM-D8", **world(turned)))[2] == "disagrees", "the untrained model answers"


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
    rows = frame("ruler_readings")
    own = rows["task"] == task
    wrong = rows.assign(**{column: rows[column].mask(own, value)})
    assert outcomes("BAM-D8", frames("BAM-D8", ruler_readings=wrong))[0] == "disagrees"
    assert (ruler.as_ruler_says(rows) & ~ruler.as_ruler_says(wrong)).sum() == ruler.as_ruler_says(rows)[own].sum()
    assert outcomes("BAM-D8", frames("BAM-D8", ruler_readings=rows[~own]))[0] == "undecided", "a task was not read"


def test_table_3():
    assert small("BAM-TAB3", as_printed) == ["agrees"] * 6
    assert small("BAM-TAB3", turned)[:3] == ["disagrees"] * 3
    assert small("BAM-TAB3", turned)[-1] == "disagrees", "RoPE is behind ALiBi"
    short = small("BAM-TAB3", as_printed, longest=8)
    assert short[4] == "undecided" and short[:4] == ["agrees"] * 4, "12 T was not tested"


def test_table_4():
    assert small("BAM-TAB4", as_printed) == ["agrees"] * 8
    assert small("BAM-TAB4", level) == ["undecided"] * 8, "a tie is no lead, and excludes none"
    assert small("BAM-TAB4", lambda name, multiple: float(name == "rope-ssmax" or multiple <= 1)) == ["disagrees"] * 8


@pytest.mark.parametrize("name", ["BAM-TAB3", "BAM-TAB4"])
def test_who_has_not_learned_a_task_decides_nothing_about_it(name):
    def unlearned(encoding, multiple):
        return as_printed(encoding, multiple) * (encoding != "rope-ssmax" or multiple > 0.75)

    found = ruler.SMALL[name].frame(world(unlearned))
    about_rope = found[found["statement"].str.contains("RoPE SSMax leads") | (name == "BAM-TAB4")]
    assert len(about_rope) and set(about_rope["found"]) == {"undecided"}
    for lacking in ({"seeds": 1}, {"names": ("bam-ssmax", needles.UNTRAINED)}, {"names": ("rope-ssmax",)}):
        assert set(small(name, as_printed, **lacking)) == {"undecided"}


def test_every_trained_encoding_is_compared_on_every_task():
    found = ruler.compared(world(as_printed))
    assert len(found) == len(RULER) * (len(ENCODINGS) - 2) and set(found["found"]) == {"agrees"}
    assert "smaller than 0.05" in ruler.compared(world(level, seeds=60))["note"].iloc[0]
