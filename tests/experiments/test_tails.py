"""Masses read from models against closed forms, and their correlation with accuracy over encodings."""

import math

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import tails
from attention_priors.model import Transformer
from attention_priors.positions.priors import alibi_slopes
from attention_priors.training.runs import Run

LENGTH, WINDOW = 512, 128


def model(name):
    return Transformer(ModelConfig(vocabulary=5, width=16, layers=2, heads=2, hidden=4, encoding=name))


def far(made):
    return tails.masses(made, LENGTH, WINDOW)[1]


def test_the_uniform_prior_and_alibi_have_their_closed_forms():
    assert far(model("nope")) == pytest.approx((LENGTH - WINDOW - 1) / LENGTH)
    decay = math.exp(-min(alibi_slopes(2)))
    exact = (decay ** (WINDOW + 1) - decay**LENGTH) / (1 - decay**LENGTH)
    assert far(model("alibi")) == pytest.approx(exact, rel=1e-6)
    near = tails.masses(model("alibi"), LENGTH, WINDOW)[0]
    steep = math.exp(-max(alibi_slopes(2)))
    assert near == pytest.approx((1 - steep ** (WINDOW // 4)) / (1 - steep**LENGTH), rel=1e-6)
    assert tails.masses(model("nope"), LENGTH, WINDOW)[0] == pytest.approx(WINDOW // 4 / LENGTH)


def test_ssmax_sharpens_a_prior_that_it_scales_and_no_other():
    plain, scaled = (far(model(name)) for name in ("alibi", "alibi-ssmax"))
    assert plain == scaled
    sharper = model("alibi-ssmax-prior")
    table = tails.log_prior(sharper.blocks[0].attention, LENGTH)
    unscaled = sharper.blocks[0].attention.prior.log_prior(torch.arange(LENGTH)).double()
    torch.testing.assert_close(table, math.log(LENGTH) * unscaled, rtol=1e-6, atol=0)
    assert far(sharper) < scaled


def test_the_widest_head_of_all_layers_counts():
    made = model("bam")
    assert far(made) == pytest.approx((LENGTH - WINDOW - 1) / LENGTH, rel=1e-5)
    with torch.no_grad():
        for block in made.blocks:
            block.attention.prior.theta_beta.fill_(1.0)
        narrow = far(made)
        made.blocks[1].attention.prior.theta_beta[0] = 0.0
    assert narrow < 1e-3 < far(made)


def test_a_sink_is_read_at_the_places_of_the_keys():
    made = model("goat").blocks[0].attention
    sink = next(prior for prior in made.prior.split()[1])
    with torch.no_grad():
        sink.slopes.fill_(-0.1)  # early keys are favoured: long lags
    table = tails.log_prior(made, LENGTH).detach()
    assert (table[:, -1] > table[:, 0]).all()


NAMES = ("alibi", "bam", "bam-ssmax", "bam-bounded", "bam-laplace", "nope", "t5", "sandwich")  # of five families


def test_the_correlation_is_over_encodings_that_passed():
    accuracy = [0.1, 0.2, 0.15, 0.4, 0.5, 0.45, 0.8, 0.9]
    rows = [(name, seed, x, y, True) for name, x, y in zip(NAMES, range(8), accuracy, strict=True) for seed in range(3)]
    frame = pd.DataFrame(
        [*rows, ("fire", 0, 99, 0.0, False)], columns=["encoding", "seed", "far", "accuracy", "passed"]
    )
    found = tails.correlation(frame, "far")
    assert found.n == 8 and found.rho == pytest.approx(1 - 6 * 4 / (8 * 63)) and found.p < 0.01
    shown = tails.correlations(frame.assign(near=1.0, both=frame["far"]))
    assert shown["quantity"].tolist() == 3 * list(tails.QUANTITIES.values())
    assert shown["n"].tolist() == [8, 8, 8, 8, 8, 8, 5, 5, 5]
    assert math.isnan(shown["Spearman's ρ with accuracy"][0]) and shown["Spearman's ρ with accuracy"][2] == found.rho
    without = tails.correlations(frame.assign(near=frame["far"].ge(3), both=frame["far"]))
    assert without["n"].tolist() == [8, 8, 8, 5, 5, 5, 5, 5, 5] and without["p"].isna().tolist()[3] is True


def test_forms_of_one_encoding_are_one_family():
    """By hand: BAM's three forms have the mean 1, so that the families' ranks agree."""
    rows = [("bam", 0, 5.0, 0.9), ("bam-ssmax", 0, -3.0, 0.1), ("bam-bounded", 0, 1.0, 0.2)]
    rows += [("alibi", 0, 2.0, 0.5), ("t5", 0, 3.0, 0.6), ("nope", 0, 0.0, 0.0)]
    frame = pd.DataFrame(rows, columns=["encoding", "seed", "far", "accuracy"]).assign(passed=True)
    assert tails.correlation(frame, "far", "family")[::4] == (1.0, 4) and tails.correlation(frame, "far").n == 6


def test_a_row_for_each_seed_of_each_encoding_with_a_prior(tmp_path, monkeypatch):
    profile = config.profile("smoke")
    monkeypatch.setattr(Run, "model", lambda run: Transformer(run.spec.model))
    names = (*profile.benchmark.encodings, "fox", "fire")  # set by content, and by the row
    asked = profile.benchmark.model_copy(update={"encodings": names})
    profile = profile.model_copy(update={"benchmark": asked})
    counts = pd.DataFrame(
        [
            (name, seed, n, 1 + (n == 128), 2, 128)
            for name in names
            for seed in profile.seeds_for(name)
            for n in (128, 256)
        ],
        columns=["encoding", "seed", "length", "correct", "samples", "trained"],
    )
    made = tails.tails(profile, tmp_path, counts)
    assert list(made.columns) == tails.COLUMNS and {"nope", "bam-ssmax"} <= set(made["encoding"])
    assert not made["encoding"].str.startswith(("rope", "fox", "fire")).any()
    assert (made["length"] == 256).all() and (made["accuracy"] == 0.5).all() and made["passed"].all()
    assert (made["both"] == made[["near", "far"]].min(axis=1)).all()
    missed = tails.tails(profile, tmp_path, counts.assign(correct=1))
    assert not missed["passed"].any()


def test_the_hypothesis_of_near_mass_holds_or_not():
    frame = pd.DataFrame(
        {
            "encoding": list(NAMES),
            "near": range(8),
            "far": [3, 1, 2, 0, 5, 4, 7, 6],
            "both": 0.0,
            "accuracy": range(8),
            "passed": True,
        }
    )
    assert "near mass 1.00, p = " in tails.near_mass_leads(frame)
    assert tails.near_mass_leads(frame).endswith("lower. As it was written, the hypothesis holds.")
    turned = frame.assign(accuracy=frame["far"])
    assert tails.near_mass_leads(turned).endswith("not lower. As it was written, the hypothesis does not hold.")
    assert tails.near_mass_leads(frame[:2]) == "2 encodings passed their gate: too few to tell."
