"""Associative recall: the load that is carried, the gate, and settings that are refused."""

import pytest

from attention_priors import config
from attention_priors.experiments import recall
from figures.committed import frame


def test_the_load_is_read_where_shares_first_cross_one_half():
    assert recall.crossing([4, 8, 16], [0.4, 1.0, 1.0]) == 0
    assert recall.crossing([4, 8, 16], [1.0, 0.9, 0.5]) == 16
    assert recall.crossing([4, 8, 16], [1.0, 0.75, 0.25]) == pytest.approx(8 * 2**0.5)
    assert recall.crossing([4, 16, 64], [1.0, 0.0, 1.0]) == pytest.approx(8), "what comes after is not carried"


def test_a_run_passes_by_sixteen_pairs_within_t_alone():
    answers = frame("recall_answers").query("encoding in ['rope', 'bam']")
    answers = answers.assign(correct=answers["queries"].where(answers["load"] != 32, 0))
    assert recall.learned(answers)["passed"].all()
    asked = (answers["load"] == 16) & (answers["length"] <= answers["trained"]) & (answers["encoding"] == "rope")
    gates = recall.learned(answers.assign(correct=answers["correct"].mask(asked, 0)))
    assert dict(zip(gates["encoding"], gates["passed"], strict=True)) == {"rope": False, "bam": True}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"loads": (65,)}, "loads = 65"),
        ({"loads": (4, 8)}, "do not ask 16 pairs at the training length 128"),
        ({"encodings": ("rope-local",)}, "rope-local has no weights of its own"),
        ({"encodings": ("learned",)}, "learned has no weights of its own, or ends before"),
    ],
)
def test_settings_that_ask_what_there_is_not_are_refused(changes, said):
    values = config.profile("smoke").recall.model_dump()
    with pytest.raises(ValueError, match=said):
        recall.Settings(**values | {"evaluation": {"lengths": (128, 65536), "samples": 1}} | changes)
