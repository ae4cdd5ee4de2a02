"""Answers at an offset that the query names: what is trained, asked and counted."""

import pandas as pd
import pytest
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


def test_totals_and_octaves_agree():
    rows = pd.DataFrame(
        {
            "encoding": "goat-rope",
            "seed": seed,
            "steps": 9,
            "run": "r",
            "length": 128,
            "address": address,
            "correct": right,
            "samples": 10,
            "trained": 128,
        }
        for seed in (0, 1)
        for address, right in ((1, 10), (2, 4 + seed))
    )
    total = goat_offsets.totals(rows)
    assert total[["correct", "samples", "steps"]].values.tolist() == [[14, 20, 9], [15, 20, 9]]
    by = goat_offsets.by_address(rows).set_index("address")
    assert by["mean"].tolist() == pytest.approx([1.0, 0.45]) and (by["seeds"] == 2).all()


def test_a_model_is_asked_once_and_kept(tmp_path):
    settings = PROFILE.goat_offsets.model_copy(update={"encodings": ("goat-rope",), "seeds": (0,)})
    one = PROFILE.model_copy(update={"goat_offsets": settings, "workers": 1})
    first = goat_offsets.measure(one, tmp_path, tmp_path)["goat_offset_answers"]
    assert set(first["length"]) == set(PROFILE.division.evaluation.lengths) and first["run"].nunique() == 1
    assert len(list(tmp_path.glob("*/offsets-*.json"))) == 1
    pd.testing.assert_frame_equal(goat_offsets.measure(one, tmp_path, tmp_path)["goat_offset_answers"], first)
