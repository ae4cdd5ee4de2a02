"""Answers at an offset that the query names: what is trained and asked."""

import pandas as pd
import torch

from attention_priors import config
from attention_priors.experiments import goat_offsets
from attention_priors.tasks import addressing

PROFILE = config.profile("smoke")


def test_runs_have_goat_s_heads_and_the_recipe_of_the_addresses():
    for name in ("smoke", "cpu", "full", "gpu", "paper"):
        profile = config.profile(name)
        for spec in goat_offsets.wanted(profile):
            assert spec.recipe == profile.division.recipe and spec.model.heads == profile.goat_passkey.size.heads
        assert {"goat-composite", "goat-rope"} <= set(profile.goat_offsets.encodings)


class Oracle(torch.nn.Module):
    """Logits that answer addresses below `reach` rightly and all others wrongly."""

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach, self.one = reach, torch.nn.Parameter(torch.ones(1))

    def forward(self, tokens, last, backend):
        addresses = tokens[:, -last:] - addressing.SYMBOLS + 1
        text = tokens[:, :-last]
        answers = text.gather(1, text.shape[1] - addresses)
        answers = torch.where(addresses < self.reach, answers, (answers + 1) % addressing.SYMBOLS)
        return torch.nn.functional.one_hot(answers, addressing.SYMBOLS).float()


def test_answers_are_counted_by_octave_of_the_address():
    (spec, *_) = goat_offsets.wanted(PROFILE)
    asks = PROFILE.division.evaluation.model_copy(update={"lengths": (128,), "samples": 64})
    found = pd.DataFrame(goat_offsets.answered(Oracle(reach=16), spec, asks)).set_index("address")
    assert found["samples"].sum() == 64 * addressing.QUERIES and list(found.index) == [1, 2, 4, 8, 16, 32, 64]
    right = found["correct"] / found["samples"]
    assert right.tolist() == [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
