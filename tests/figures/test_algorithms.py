"""The figures of the algorithmic tasks: who stands beside whom."""

from attention_priors.figures import algorithms
from figures.committed import frame


def test_rows_stand_beside_their_plain_form_and_the_control_last():
    there = frame("algorithms_accuracy")
    names = {"sinusoidal-randomised-128", "rope", "untrained", "rope-randomised-128", "sinusoidal"}
    mixed = there[there["encoding"].isin(names)].sample(frac=1, random_state=0)
    assert algorithms.listed(mixed) == [
        "sinusoidal",
        "sinusoidal-randomised-128",
        "rope",
        "rope-randomised-128",
        "untrained",
    ]
