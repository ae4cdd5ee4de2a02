"""Tail masses read from models against closed forms, and the correlation with its interval."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import tails
from attention_priors.model import Transformer
from attention_priors.positions.priors import alibi_slopes
from attention_priors.training import Run

LENGTH, WINDOW = 512, 128


def model(name):
    return Transformer(ModelConfig(vocabulary=5, width=16, layers=2, heads=2, hidden=4, encoding=name))


def test_the_uniform_prior_and_alibi_have_their_closed_forms():
    assert tails.tail_of(model("nope"), LENGTH, WINDOW) == pytest.approx((LENGTH - WINDOW - 1) / LENGTH)
    decay = math.exp(-min(alibi_slopes(2)))
    exact = (decay ** (WINDOW + 1) - decay**LENGTH) / (1 - decay**LENGTH)
    assert tails.tail_of(model("alibi"), LENGTH, WINDOW) == pytest.approx(exact, rel=1e-6)


def test_ssmax_sharpens_a_prior_that_it_scales_and_no_other():
    plain, scaled = (tails.tail_of(model(name), LENGTH, WINDOW) for name in ("alibi", "alibi-ssmax"))
    assert plain == scaled
    sharper = model("alibi-ssmax-prior")
    table = tails.log_prior(sharper.blocks[0].attention, LENGTH)
    unscaled = sharper.blocks[0].attention.prior.log_prior(torch.arange(LENGTH)).double()
    torch.testing.assert_close(table, math.log(LENGTH) * unscaled, rtol=1e-6, atol=0)
    assert tails.tail_of(sharper, LENGTH, WINDOW) < scaled


def test_the_widest_head_of_all_layers_counts():
    made = model("bam")
    assert tails.tail_of(made, LENGTH, WINDOW) == pytest.approx((LENGTH - WINDOW - 1) / LENGTH, rel=1e-5)
    with torch.no_grad():
        for block in made.blocks:
            block.attention.prior.theta_beta.fill_(1.0)
        narrow = tails.tail_of(made, LENGTH, WINDOW)
        made.blocks[1].attention.prior.theta_beta[0] = 0.0
    assert narrow < 1e-3 < tails.tail_of(made, LENGTH, WINDOW)


def test_a_sink_is_read_at_the_places_of_the_keys():
    made = model("goat").blocks[0].attention
    sink = next(prior for prior in made.prior.split()[1])
    with torch.no_grad():
        sink.slopes.fill_(-0.1)  # early keys are favoured: long lags
    table = tails.log_prior(made, LENGTH).detach()
    assert (table[:, -1] > table[:, 0]).all()


def test_the_correlation_is_over_encodings_and_has_the_interval_of_bonett_and_wright():
    names = list("abcdefgh")
    accuracy = [0.1, 0.2, 0.15, 0.4, 0.5, 0.45, 0.8, 0.9]
    rows = [(name, seed, x, y) for name, x, y in zip(names, range(8), accuracy, strict=True) for seed in range(3)]
    frame = pd.DataFrame(rows, columns=["encoding", "seed", "tail", "accuracy"])
    rho, low, high, n = tails.correlation(frame, "accuracy")
    assert n == 8 and rho == pytest.approx(1 - 6 * 4 / (8 * 63))
    half = 1.96 * math.sqrt((1 + rho**2 / 2) / 5)
    assert (np.arctanh(high) - np.arctanh(low)) / 2 == pytest.approx(half)
    assert math.isnan(tails.correlation(frame.assign(accuracy=1.0), "accuracy")[0])
    assert tails.correlation(frame[frame["encoding"] < "d"], "accuracy")[1:3] == (-1.0, 1.0)


def test_a_row_for_each_seed_of_each_encoding_with_a_prior(tmp_path, monkeypatch):
    profile = config.profile("smoke")
    monkeypatch.setattr(Run, "model", lambda run: Transformer(run.spec.model))
    names = profile.benchmark.encodings
    counts = pd.DataFrame([(name, seed, n, 1, 2) for name in names for seed in profile.seeds for n in (128, 256)],
                          columns=["encoding", "seed", "length", "correct", "samples"])  # fmt: skip
    reached = counts[counts["length"] == 128][["encoding", "seed"]].assign(reach=256)
    made = tails.tails(profile, tmp_path, counts, reached)
    assert set(made["encoding"]) == {"nope", "goat", "bam-ssmax"} and len(made) == 3 * len(profile.seeds)
    assert (made["length"] == 256).all() and (made["accuracy"] == 0.5).all() and (made["reach"] == 256).all()
