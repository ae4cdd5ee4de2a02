"""Predictions of the theory against closed forms, on metrics as the notebooks write them."""

import math

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import passkeys, predictions
from attention_priors.experiments.heads import FIGURE_LENGTH
from attention_priors.tasks import passkey
from attention_priors.training import Run


def learned(**changes) -> pd.DataFrame:
    row = {"encoding": "bam-ssmax", "seed": 0, "layer": 0, "head": 0, "theta_alpha": 0.0, "beta": 0.0, "scale": 1.0,
           "passkey_mass": 0.5}  # fmt: skip
    return pd.DataFrame([{**row, **changes}])


def test_a_uniform_head_gives_the_sentence_its_share_of_the_keys():
    found = predictions.heads(learned()).iloc[0]
    counts = np.arange(FIGURE_LENGTH - passkey.DIGITS + 1, FIGURE_LENGTH + 1)
    assert found["predicted"] == pytest.approx(np.mean(passkey.KEY_TOKENS / counts), rel=1e-6)
    assert found["supplied"] == pytest.approx(found["required"])  # half measured is half required


def test_a_local_head_gives_it_nothing_and_ssmax_sharpens_it():
    near = predictions.heads(learned(beta=1.0, theta_alpha=math.log(0.1))).iloc[0]
    assert near["predicted"] == pytest.approx(1e-7) and near["supplied"] == pytest.approx(near["required"])
    mild = [predictions.heads(learned(beta=0.2, theta_alpha=-2.0, scale=s)).iloc[0]["predicted"] for s in (0.5, 2.0)]
    assert mild[1] < mild[0]


def test_tails_of_models_are_those_of_their_priors():
    empty = learned().iloc[:0]
    assert predictions.tail_of("nope-ssmax", empty, 1024, 127, 4) == pytest.approx(1 - 128 / 1024)
    slow = 2.0**-8
    exact = (math.exp(-slow * 128) - math.exp(-slow * 1024)) / (1 - math.exp(-slow * 1024))
    assert predictions.tail_of("alibi", empty, 1024, 127, 4) == pytest.approx(exact, rel=1e-6)
    two = pd.concat([learned(), learned(head=1, beta=1.0)])
    assert predictions.tail_of("bam-ssmax", two, 1024, 127, 2) == pytest.approx(1 - 128 / 1024)


def test_only_ssmax_sharpens_the_prior_of_a_model():
    slope, steeper = 0.01, 0.01 * math.log(1024)
    head = learned(beta=1.0, theta_alpha=math.log(slope), scale=1.0)
    for name, rate in (("bam", slope), ("bam-ssmax", steeper)):
        exact = (math.exp(-rate * 128) - math.exp(-rate * 1024)) / (1 - math.exp(-rate * 1024))
        assert predictions.tail_of(name, head, 1024, 127, 1) == pytest.approx(exact, rel=1e-4), name


def test_learned_priors_come_from_the_records_of_the_runs(tmp_path, monkeypatch):
    layers = [{"theta_alpha": [0.1, 0.2], "theta_beta": [0.5, -0.5]}, {"theta_alpha": [0.3, 0.4], "theta_beta": [1, 2]}]

    def record(run):
        name = run.spec.model.encoding
        extra = {"scale": [0.7, 0.8]} if name == "bam-ssmax" else {}
        return {"key": f"key of {name}", "learned": [{**layer, **extra} for layer in layers]}

    monkeypatch.setattr(Run, "record", record)
    found = passkeys.priors(config.profile("smoke").model_copy(update={"main_seeds": (3,)}), tmp_path)
    assert list(found.columns) == passkeys.PRIORS
    assert found.groupby("encoding").size().to_dict() == {"bam": 4, "bam-ssmax": 4}
    plain = found[found["encoding"] == "bam"]
    assert plain["beta"].tolist() == [0.5, -0.5, 1, 2] and plain["scale"].isna().all()
    last = found.iloc[-1]
    assert (last["seed"], last["layer"], last["head"], last["theta_alpha"], last["scale"]) == (3, 1, 1, 0.4, 0.8)
    assert last["run"] == "key of bam-ssmax"


def test_models_without_a_known_prior_are_left_out():
    rows = [
        {"form": form, "encoding": name, "seed": 0, "length": length, "accuracy": 0.5, "trained": 128}
        for form in ("plain", "hard")
        for name in ("rope", "nope", "bam", "bam-ssmax")  # the learned prior is that of bam-ssmax
        for length in (128, 256)
    ]
    found = predictions.models(pd.DataFrame(rows), learned(), 256, 4)
    assert found["encoding"].tolist() == ["nope", "bam-ssmax"]
    assert predictions.models(pd.DataFrame(rows), learned(seed=9), 256, 4)["encoding"].tolist() == ["nope"]


def test_every_other_length_beyond_training_at_which_the_control_was_asked():
    rows = [
        {"form": "plain", "encoding": name, "seed": 0, "length": length, "accuracy": 0.5, "trained": 128}
        for name in ("nope", "bam-ssmax", "untrained")
        for length in (128, 256, 512, 1024, *([2048] if name == "bam-ssmax" else []))
    ]
    found = predictions.all_models(pd.DataFrame(rows), learned())
    assert found.groupby("encoding")["length"].agg(list).to_dict() == {"nope": [256, 1024], "bam-ssmax": [256, 1024]}


def test_rank_correlation():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [10.0, 30.0, 20.0], "c": 1.0})
    assert predictions.spearman(frame, "a", "b") == pytest.approx(0.5)
    assert math.isnan(predictions.spearman(frame, "a", "c"))
