"""Passkeys read in chunks: what is asked, of whom, and what the frames count."""

import pandas as pd
import pytest
import torch

from attention_priors import config
from attention_priors.config import Evaluation, ModelConfig
from attention_priors.evaluation import passkey_samples
from attention_priors.experiments import parallel_needles as needles
from attention_priors.experiments.arms import passkey_run
from attention_priors.model import Transformer
from attention_priors.parallel.methods import METHODS
from attention_priors.tasks import passkey

PROFILES = {name: config.profile(name) for name in ("smoke", "cpu", "full", "gpu", "paper")}
ASKED = Evaluation(lengths=(128, 256), samples=5)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Transformer(
        ModelConfig(vocabulary=len(passkey.VOCABULARY), width=32, layers=2, heads=2, hidden=32, encoding="rope")
    ).eval()


def test_what_is_for_rope_is_asked_of_rope_alone():
    settings = PROFILES["full"].parallel_needles
    for method, row in METHODS.items():
        assert bool(settings.asked("alibi", method)) == (not row.rope) and settings.asked("rope", method)


def test_the_prompts_are_those_of_the_passkey_experiment(model):
    """Read as ever, the same answers are right as `evaluation.passkey_samples` counts."""
    for seed in range(3):
        rows = needles.banded(model, METHODS["plain"], ASKED, seed, 128)
        for length in ASKED.lengths:
            right = sum(row["correct"] for row in passkey_samples(model, length, 5, seed))
            assert sum(row["correct"] for row in rows if row["length"] == length) == right
    text, answer, depth = needles.prompts(128, 5, 0)[2]
    assert len(text.tokens) == 108 and passkey.decode(text.question) == passkey.QUESTION and depth == 0.5
    start, stop = text.wanted
    sentence = text.tokens[start:stop]
    assert torch.equal(sentence[3:8], answer) and torch.equal(sentence[13:18], answer)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers(model, method):
    rows = needles.banded(model, METHODS[method], ASKED, 0, 128)
    assert sum(row["samples"] for row in rows) == 10 and {row["band"] for row in rows} == set(range(5))
    at = {row["length"]: row for row in rows}
    if METHODS[method].chunks:
        assert at[128]["chunks"] == 1 and 1 <= at[256]["chunks"] <= 3
        assert all(row["kept"] <= row["samples"] for row in rows)
    else:
        assert at[128]["kept"] is None and at[128]["chunks"] is None


def test_entries_are_what_the_question_attends_to(model):
    found = {
        name: needles.banded(model, METHODS[name], Evaluation(lengths=(1024,), samples=2), 0, 128)[0]["entries"]
        for name in METHODS
    }
    assert found["plain"] == found["rerope"] == found["all"] == 1004
    assert found["last-window"] == found["halves"] == found["k1"] == 108 and found["streaming"] == 127
    assert found["snapkv"] == 162 and found["k3-half"] in range(155, 163) and found["k3-quarter"] in range(77, 82)
    assert 300 < found["k3"] <= 324


def test_ranks_are_those_of_the_chunk_with_the_key(model):
    rows = pd.DataFrame(needles.ranked(model, Evaluation(lengths=(128, 512), samples=6), 0, 128))
    assert set(rows["length"]) == {512} and len(rows) == 12  # one chunk has no rank
    plain, overlap = (rows[rows["cutting"] == name] for name in needles.RANKED)
    assert (plain["chunks"] == 5).all() and (overlap["chunks"] == 6).all()
    assert rows["rank"].between(1, rows["chunks"]).all() and not overlap["cut"].any() and plain["cut"].any()


def world(k3=1.0, plain=0.2, gate=1.0, seeds=(0, 1, 2)):
    """Prompts at T and 16T, gate and so on, of one encoding."""
    prompts, asked = [], []
    for seed in seeds:
        for length in (96, 128):
            asked.append(
                {
                    "encoding": "rope",
                    "seed": seed,
                    "length": length,
                    "correct": round(50 * gate),
                    "samples": 50,
                    "trained": 128,
                    "per_token": 1000,
                    "per_pair": 10,
                }
            )
        for method, share in (("plain", plain), ("k3", k3)):
            for length in (128, 2048):
                for band in range(5):
                    right = 10 if length == 128 else round(10 * share)
                    prompts.append(
                        {
                            "encoding": "rope",
                            "method": method,
                            "seed": seed,
                            "length": length,
                            "band": band,
                            "correct": right,
                            "samples": 10,
                            "cut": 2,
                            "cut_correct": 1,
                            "trained": 128,
                            "kept": 9 if method == "k3" else None,
                            "chunks": 19.0 if method == "k3" else None,
                            "entries": 324.0,
                        }
                    )
    return pd.DataFrame(prompts), pd.DataFrame(asked)


def test_lengths_and_seeds_are_counted_and_the_gate_stands_beside_them():
    found = needles.by_length(*world()).set_index(["method", "seed", "length"])
    row = found.loc["k3", 0, 2048]
    assert row[["correct", "samples", "kept", "cut", "chunks"]].tolist() == pytest.approx([50, 50, 0.9, 10, 19.0])
    assert row["low"] == pytest.approx(0.929, abs=1e-3) and row["high"] == 1 and found["passed"].all()
    assert pd.isna(found.loc["plain", 0, 2048]["kept"]) and found.loc["plain", 0, 2048]["accuracy"] == 0.2
    missed = needles.by_length(*world(gate=0.9))
    assert not missed["passed"].any()
    mean = needles.over_models(needles.by_length(*world())).set_index(["method", "length"])
    assert mean.loc["k3", 2048]["mean"] == 1 and mean.loc["k3", 2048]["passed"] == 3
    assert mean.loc["plain", 2048]["high"] < 0.3 and mean.loc["plain", 128]["mean"] == 1
    assert needles.over_models(missed).set_index("method").loc["k3"]["passed"].eq(0).all()


def test_flops_are_those_of_rows():
    size = {"window": 128, "per_token": 1000, "per_pair": 10}
    row = 1000 * 124 + 10 * 124**2 / 2  # of the window, less what is kept for the answer
    assert (
        needles.flops("k3", 19.0, 2048, **size) == 19 * row and needles.flops("oracle", 1.2, 2048, **size) == 1.2 * row
    )
    assert needles.flops("last-window", float("nan"), 2048, **size) == row
    assert needles.flops("plain", float("nan"), 2048, **size) == 1000 * 2043 + 10 * 2043**2 / 2
    assert needles.flops("streaming", float("nan"), 2048, **size) == 1000 * 2043 + 10 * (128**2 / 2 + 1915 * 128)
    found = needles.by_length(*world()).set_index(["method", "seed", "length"])
    assert found.loc["k3", 0, 2048]["flops"] == pytest.approx(19 * row)


def test_differences_are_those_of_the_seeds_that_passed():
    both = needles.by_length(*world(k3=0.9))
    found = needles.differences(both).set_index(["ours", "theirs", "length"])
    row = found.loc["k3", "plain", 2048]
    assert row["difference"] == pytest.approx(0.7) and row["seeds"] == 3 and row["low"] > 0.5 and row["high"] < 0.9
    assert found.index.to_list() == [("k3", "plain", 128), ("k3", "plain", 2048)]
    missed = needles.differences(needles.by_length(*world(gate=0.9)))
    assert list(missed) == list(needles.COLUMNS) and len(missed) == 2
    assert missed["seeds"].eq(0).all() and missed["difference"].isna().all()


def test_a_model_is_trained_once_and_asked_once(tmp_path):
    smoke = PROFILES["smoke"]
    settings = smoke.parallel_needles.model_copy(
        update={"encodings": ("rope",), "methods": ("plain", "k3"), "far_methods": ("k3",)}
    )
    one = smoke.model_copy(update={"seeds": (0,), "main_seeds": (0,), "workers": 1, "parallel_needles": settings})
    first = needles.EXPERIMENT.measured(one, tmp_path, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} >= {passkey_run(one, "rope", 0).key("cpu")} or len(first) == 3
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    again = needles.EXPERIMENT.measured(one, tmp_path, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == kept
    for name, frame in first.items():
        pd.testing.assert_frame_equal(frame, again[name])
    lengths = first["parallel_prompts"].groupby("method")["length"].max()
    assert lengths["k3"] == 512 and lengths["plain"] == 256
