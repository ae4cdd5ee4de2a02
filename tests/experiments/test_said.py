"""Sentences of the notebooks say what their frames say."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments import robustness, said


def test_tasks_that_several_encodings_learned_are_counted():
    names = "rope", "bam", "nope", "alibi"
    frame = pd.DataFrame(
        {"task": task, "encoding": name, "passed": task == "single-1" or name == "rope"}
        for task in ("single-1", "multikey-1")
        for name in names
    )
    sentence, _, _, value, *_ = said.needles(frame)
    assert sentence.startswith("1 of the 2 tasks are learned by at least 4 of 4 encodings (single-1)")
    assert np.isnan(value)  # tasks were chosen, not drawn: their share has no interval


@pytest.mark.parametrize(
    ("within", "too"), [((-0.9, -0.8, -0.85), "that holds, too"), ((-0.9, 0.8, 0.1), "that is not certain")]
)
def test_an_exponent_goes_with_attention_where_the_interval_is_below_zero(within, too):
    frame = pd.DataFrame(
        {"reading": reading, "rho": rho}
        for rho in within
        for reading in ("attention on the key, all heads", "attention on the key, within layers")
    )
    sentence, _, _, value, low, high, *_ = said.exponents(frame)
    assert f"the same, {too} (" in sentence and f"below zero in {sum(rho < 0 for rho in within)} of 3" in sentence
    assert -1 <= low <= value <= high <= 1
    assert np.isnan(said.exponents(frame[:2])[3])


def test_the_spectrum_is_held_against_each_rival_that_was_measured():
    gaps = ("bam", 3, -0.5), ("rope", 3, -2.0), ("alibi", 0, np.nan)
    frame = pd.DataFrame(
        {
            "encoding": name,
            "rival": rival,
            "seeds": seeds,
            "gap": gap,
            "low": gap - 1,
            "high": gap + 1,
            "length": 8192,
            "trained": 128,
            "trained_on": True,
        }
        for name in ("goat-composite", "goat-code")
        for rival, seeds, gap in gaps
    )
    sentence, _, measured, value, *_ = said.spectra(frame)
    assert "at 64 times" in sentence and "BAM -0.50 [-1.50, 0.50]; RoPE -2.00 [-3.00, -1.00]." in sentence
    assert sentence.endswith(" In the form of the authors' code: BAM -0.50 [-1.50, 0.50].")
    assert "authors" not in said.spectra(frame[frame["encoding"] == "goat-composite"])[0]
    assert (measured, value) == ("from BAM", -0.5)
    assert np.isnan(said.spectra(frame.assign(seeds=0))[3])


def test_bits_are_told_from_the_best_on():
    frame = pd.DataFrame(
        {"encoding": name, "seed": seed, "bits": bits + 0.001 * seed, "new": True, "passed": True}
        for name, bits in (("rope", 1.9), ("goat-composite", 1.8), ("bam", 1.8001))
        for seed in (0, 1, 2)
    )
    frame.loc[frame["encoding"].eq("bam") & frame["seed"].eq(0), "bits"] = 1.7999
    sentence, _, _, value, low, high, *_ = said.genomes(frame)
    assert "Goat composite needs fewest bits a base, 1.801; BAM 1.801; RoPE 1.901." in sentence
    assert sentence.endswith(" Over BAM its lead is not certain.")
    assert value == pytest.approx(0.1) and low <= value <= high
    assert np.isnan(said.genomes(frame.assign(passed=False))[3])


def test_chunks_stand_beside_other_ways_to_read_and_to_choose():
    means = (
        ("rope", "plain", 0.0),
        ("rope", "yarn", 0.2),
        ("rope", "k3", 0.7),
        ("rope", "lexical", 0.8),
        ("bam", "plain", 0.9),
    )
    frame = pd.DataFrame(
        {
            "encoding": name,
            "method": method,
            "length": 8192,
            "trained": 128,
            "passed": 3,
            "mean": mean,
            "low": mean - 0.1,
            "high": mean + 0.1,
        }
        for name, method, mean in means
    )
    sentence, _, _, value, *_ = said.chunks(frame)
    assert "0.00 read as trained, 0.70 in chunks of which its own loss chooses three, 0.80 if BM25" in sentence
    assert "; the best of 2 ways without chunks, YaRN, finds 0.20; one with" in sentence
    assert sentence.endswith("one with BAM's prior finds 0.90 without any chunks.") and value == 0.7
    assert np.isnan(said.chunks(frame[frame["method"] != "k3"])[3])


def test_a_correlation_of_few_encodings_is_told_without_them():
    names = [f"e{k}" for k in range(12)]
    near, accuracy = [0.0, 0.1, 0.05, *[0.99] * 9], [0.0, 0.1, 0.0, *np.linspace(0.9, 1.0, 9)]
    frame = pd.DataFrame(
        {"encoding": names, "seed": 0, "near": near, "far": 0.5, "both": 0.1, "accuracy": accuracy, "passed": True}
    )
    frame.loc[3:, "near"] += np.array([3, 1, 4, 1, 5, 9, 2, 6, 5]) / 1000
    sentence, _, _, value, *_ = said.masses(frame)
    assert "Over 12 encodings" in sentence and ", but over the 9 in which some head" in sentence and abs(value) < 0.7


def test_pairs_are_told_of_who_learned_them_from_the_most_on():
    carries = {"rope": 4.0, "alibi": 8.0, "bam": 64.0, "nope": 16.0, "t5": 64.0}
    runs = [(name, seed, n) for name in carries for seed in (0, 1) for n in (128, 2048, 8192)]
    frame = pd.DataFrame(runs, columns=["encoding", "seed", "length"]).assign(trained=128)
    frame["passed"], far = frame["encoding"] != "t5", frame["length"] > 128
    frame["most"] = 32 + 32 * far
    frame["carried"] = (frame["encoding"].map(carries) + frame["seed"]).clip(upper=64).where(far, 32.0)
    sentence, _, measured, value, low, high, *_ = said.recall(frame)
    assert "the 4 encodings that learned the task carry 32 of the 32 pairs" in sentence
    told = "At 16 times that length 1 of them carries all 64: 64 by BAM; 16 by NoPE; 8 by ALiBi; 4 by RoPE."
    assert told in sentence
    assert measured == "share that carries all pairs there" and low < value == 0.25 < high
    assert np.isnan(said.recall(frame.assign(passed=False))[3])


def test_sharpness_counts_the_heads_beyond_the_freezing_scale_at_the_trained_length():
    rows = [(seed, n, product, 0.2) for seed in (0, 1) for n in (128, 512) for product in (0.3, 0.5, 0.7, 0.9)]
    frame = pd.DataFrame(rows, columns=["seed", "length", "product", "scale"]).assign(trained=128)
    sentence, _, _, value, *_ = said.sharpness(frame)
    assert "128 tokens, half of 8 heads have |s|σ above 0.60, and 4 are sharper" in sentence and value == 0.6


@pytest.mark.parametrize(("mixed", "helps"), [(45, "helps."), (30, "does not help for certain.")])
def test_mixed_signs_are_held_against_the_worse_of_one_sign(mixed, helps):
    right = {"bam-ssmax": 50, "bam-negative-ssmax": 40, "bam-positive-ssmax": 20, "bam-mixed-ssmax": mixed}
    rows = [
        ("sign", arm, seed, length, count + seed if length > 160 else 0, 50)
        for arm, count in right.items()
        for seed, length in ((0, 160), (0, 256), (1, 256), (2, 256))
    ]
    frame = pd.DataFrame(rows, columns=["study", "arm", "seed", "length", "correct", "samples"]).assign(trained=128)
    frame.loc[(frame["arm"] == "bam-mixed-ssmax") & (frame["seed"] == 2), "correct"] = mixed if mixed > 40 else 10
    sentence, _, _, value, low, high, *_ = said.signs(frame)
    assert sentence.endswith(f"Mixing signs alone {helps}") and low <= value <= high
    assert np.isnan(said.signs(frame[frame["arm"] != "bam-mixed-ssmax"])[3])


def test_random_positions_gain_where_a_task_was_learned_and_where_none_was():
    rows = [
        (part, task, name, seed, near if part == "trained" else far)
        for part in ("trained", "beyond")
        for task, name, near, far in (
            ("sort", "rope", 1.0, 0.5),
            ("sort", "rope-randomised-128", 0.9, 0.9),
            ("copy", "rope", 0.9, 0.5),
            ("copy", "rope-randomised-128", 0.8, 0.498),
            ("copy", "alibi", 0.7, 0.7),
        )
        for seed in (0, 1)
    ]
    frame = pd.DataFrame(rows, columns=["part", "task", "encoding", "seed", "accuracy"])
    sentence, _, measured, value, low, high, *_ = said.strings(frame)
    assert "right symbols: sort +0.40; copy +0.00. No encoding answers 0.95 of copy within" in sentence
    assert measured == "mean gain" and low <= value <= high and value == pytest.approx(0.199)
    assert np.isnan(said.strings(frame[frame["encoding"] != "rope-randomised-128"])[3])


def test_other_recipes_are_told_with_the_arm_that_agrees_least():
    rows = [["larger", 4, 0.9, 0.7, 1.0, 5, 5, 0], ["own rates", 4, 0.8, 0.6, 0.9, 5, 4, 0]]
    sentence, _, measured, *number = said.recipes(pd.DataFrame(rows, columns=robustness.ORDER))
    assert sentence.startswith("None of the 5 pairs") and "they keep 4 to 5 (" in sentence
    assert (measured, number) == ("lowest τ, own rates", [0.8, 0.6, 0.9])
    unknown = pd.DataFrame([["larger", 1, np.nan, -1.0, 1.0, 0, 0, 0]], columns=robustness.ORDER)
    assert np.isnan(said.recipes(unknown)[3])


def test_needles_far_away_are_counted_by_whole_intervals():
    scores = {"bam": (1.0, 1.0), "rope": (0.0, 0.1), "alibi": (0.5, 1.0), "nope": (0.0, 0.0), "t5": (1.0, 1.0)}
    rows = [
        (name, seed, length, score if length > 128 else 1.0, 40, 2, 128, name != "t5")
        for name, own in scores.items()
        for seed, score in enumerate(own)
        for length in (128, 2048)
    ]
    columns = ["encoding", "seed", "length", "score", "prompts", "tasks", "trained", "passed"]
    frame = pd.DataFrame(rows, columns=columns)
    sentence, _, measured, value, low, _, *_ = said.far_needles(frame)
    assert sentence.startswith("Of 4 encodings that learned them 1 finds 0.8 of the needles at 16 times")
    assert sentence.endswith(": BAM; 2 find fewer, undecided: 1.") and (measured, value) == ("BAM", 1.0) and low > 0.9
    assert np.isnan(said.far_needles(frame[frame["encoding"] != "nope"])[3])
