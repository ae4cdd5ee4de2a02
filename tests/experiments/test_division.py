"""Dividing the work: what is read off heads, and edits that leave the weights."""

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import division
from attention_priors.experiments.arms import passkey_run
from attention_priors.model import Transformer
from attention_priors.positions.encodings import ENCODINGS, encoding, still
from attention_priors.tasks import addressing, passkey
from figures.committed import frame

LENGTH, FAR = 128, 256


def model(name="half-rope-bam"):
    torch.manual_seed(0)
    size = {"vocabulary": len(passkey.VOCABULARY), "width": 16, "layers": 2, "heads": 2, "hidden": 16}
    made = Transformer(ModelConfig(encoding=name, **size)).eval()
    made.trained = LENGTH
    return made


def test_the_digits_stand_where_heads_are_asked_for_them() -> None:
    words = passkey.KEY_SENTENCE.replace(passkey.KEY, " ".join(passkey.KEY * passkey.DIGITS)).split()
    for mention in (division.FIRST_MENTION, passkey.SECOND_MENTION):
        assert words[mention : mention + passkey.DIGITS] == [passkey.KEY] * passkey.DIGITS
        assert passkey.KEY not in (words[mention - 1], words[mention + passkey.DIGITS])


def test_a_head_that_looks_at_all_keys_alike_copies_two_in_a_text() -> None:
    made = model("nope")
    for block in made.blocks:
        block.attention.query.weight.data.zero_()
    found = division.copied(made, LENGTH, 0)
    assert found.shape == (2, 2)
    rows = torch.arange(LENGTH - passkey.DIGITS, LENGTH) + 1
    assert found.flatten().tolist() == pytest.approx([float((2 / rows).mean())] * 4, rel=1e-5)


def test_a_head_is_taken_away_and_comes_back() -> None:
    made, tokens = model(), torch.arange(20)[None]
    before = made(tokens)
    with division.without(made, 1, 0):
        assert not made.blocks[1].attention.output.weight[:, :8].any() and made.blocks[1].attention.output.weight.any()
        assert not torch.equal(made(tokens), before)
    assert torch.equal(made(tokens), before)


def test_a_late_window_changes_what_rotated_heads_see_and_no_weight() -> None:
    made = model()
    late = division.windowed(made, division.WINDOWED["half-rope-bam"], 32)
    assert all(torch.equal(late.state_dict()[key], value) for key, value in made.state_dict().items())
    tokens = torch.arange(40)[None]
    maps = late.attention_maps(tokens, 1)[0][0, :, 0]
    assert not maps[0, :8].any() and maps[0, 8:].all() and maps[1].all()
    assert torch.equal(late(tokens[:, :32]), made(tokens[:, :32]))
    with pytest.raises(ValueError, match="encoding 'half-rope' has no window; take one of half-rope-window, "):
        division.windowed(made, "half-rope", 32)


def test_a_windowed_encoding_differs_from_the_other_by_its_window() -> None:
    for name, other in division.WINDOWED.items():
        one, two = encoding(name), encoding(other)
        assert one.window is None and two.window and (one.prior, one.rotated_heads) == (two.prior, two.rotated_heads)
    windowed = {
        name for name, row in ENCODINGS.items() if row.window and row.rotary is not still and not row.rotated_layers
    }
    assert set(division.WINDOWED.values()) == windowed


def test_near_and_far_addresses_are_told_by_the_way_back(monkeypatch) -> None:
    """An oracle for symbols less than 32 back answers all near addresses and no far one."""

    def right(model, asked, **how):
        return asked.addresses + torch.arange(addressing.QUERIES) < 32

    monkeypatch.setattr(addressing, "right", right)
    profile = config.profile("smoke")
    rows = pd.DataFrame(division.by_distance(model(), division.spec(profile, "rope", 0), profile.division.evaluation))
    shares = (rows["correct"] / rows["samples"]).groupby(rows["task"]).agg(["min", "max"])
    assert shares.loc[division.NEAR].tolist() == [1, 1] and shares.loc[division.FAR].tolist() == [0, 0]
    assert (rows.groupby("length")["samples"].sum() == profile.division.evaluation.samples * 8).all()


def test_a_prior_rate_is_of_addresses_alone() -> None:
    profile = config.profile("smoke")
    usual, passkeys = division.spec(profile, "rope-bam", 0), passkey_run(profile, "rope-bam", 0)
    settings = profile.division.model_copy(update={"prior_rate": 0.25})
    profile = profile.model_copy(update={"division": settings})
    changed = division.spec(profile, "rope-bam", 0).recipe
    assert changed == usual.recipe.model_copy(update={"prior_rate": 0.25}) != usual.recipe
    assert passkey_run(profile, "rope-bam", 0) == passkeys


def test_passkeys_that_were_not_asked_where_heads_were_are_one_line() -> None:
    answers, heads = frame("division_answers"), frame("division_heads")
    with pytest.raises(ValueError, match=r"^passkeys were not asked at 511 tokens, where heads were; ask them there"):
        division.models(answers, heads.assign(far=511))
