"""Sentences of the notebooks where a profile has less than what is committed, or finds the opposite."""

import numpy as np
import pytest

from attention_priors.experiments import findings, said
from figures.committed import frame

WITHOUT = {
    "exponents": ("learned_correlations", lambda rows: rows[rows["seed"] == 0]),
    "spectra": ("goat_language_differences", lambda rows: rows.assign(seeds=0)),
    "genomes": ("genomes_losses", lambda rows: rows.assign(passed=False)),
    "chunks": ("parallel_over_seeds", lambda rows: rows[rows["method"] != "k3"]),
    "recall": ("recall_surface", lambda rows: rows.assign(passed=0)),
    "signs": ("ablation_priors", lambda rows: rows[rows["arm"] != "bam-mixed-ssmax"]),
    "strings": ("algorithms_accuracy", lambda rows: rows[~rows["encoding"].str.contains("randomised")]),
    "recipes": ("robustness_order", lambda rows: rows.assign(tau=np.nan)),
    "far_needles": ("ruler_average", lambda rows: rows[rows["encoding"].isin(["bam", "rope", "alibi"])]),
    "scale": ("scale_growth", lambda rows: rows.assign(seeds=1)),
    "perplexity_tells": ("perplexity_and_retrieval", lambda rows: rows[:1]),
    "perplexity_tells, nobody": ("perplexity_and_retrieval", lambda rows: rows[:0]),
    "dividing": ("division_models", lambda rows: rows.assign(passed=False)),
    "pretrained": ("pretrained_losses", lambda rows: rows[rows["length"] == rows["length"].min()]),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_a_sentence_without_its_rivals_has_no_number(name):
    metric, left = WITHOUT[name]
    name = name.partition(",")[0]
    sentence, _, _, value, *_ = getattr(said if hasattr(said, name) else findings, name)(left(frame(metric)))
    assert sentence.endswith(".") and "nan" not in sentence and np.isnan(value)


@pytest.mark.parametrize(
    ("within", "too"), [((-0.9, -0.8, -0.85), "that holds, too"), ((-0.9, 0.8, 0.1), "that is not certain")]
)
def test_an_exponent_goes_with_attention_where_the_interval_is_below_zero(within, too):
    rows = frame("learned_correlations").query("seed < 3")
    told = rows.assign(rho=rows["seed"].map(dict(enumerate(within))))
    sentence, _, _, value, low, high, *_ = said.exponents(told)
    assert f"the same, {too} (" in sentence and f"below zero in {sum(rho < 0 for rho in within)} of 3" in sentence
    assert -1 <= low <= value <= high <= 1


def test_mixed_signs_help_where_they_lead_for_certain():
    rows = frame("ablation_priors")
    mixed = rows["arm"] == "bam-mixed-ssmax"
    for best, helps in ((mixed, "helps."), (~mixed, "does not help for certain.")):
        sentence, _, _, value, low, high, *_ = said.signs(rows.assign(correct=rows["samples"].where(best, 0)))
        assert sentence.endswith(f"Mixing signs alone {helps}") and low <= value <= high


def test_pairs_are_told_of_who_learned_them_with_every_seed():
    shares = {"rope": 0.1, "alibi": 0.66, "bam": 1.0, "nope": 0.97, "t5": 0.99}  # T5 with one seed of two
    rows = frame("recall_surface")
    rows = rows[rows["encoding"].isin(shares) & rows["length"].isin([128, 2048])].assign(seeds=2, mean=1.0)
    rows["passed"] = rows["seeds"].where(rows["encoding"] != "t5", 1)
    hard = (rows["load"] == 64) & (rows["length"] == 2048)
    rows.loc[hard, "mean"] = rows["encoding"].map(shares)
    assert said.recall(rows)[0] == (
        "At 16 times the training length, with 64 pairs in the text, 2 of the 4 encodings that learned the task with "
        "every seed still answer 0.95 of the queries or more: BAM and NoPE; 1 between that and half: ALiBi 0.66; 1 "
        "fewer than half: RoPE 0.10."
    )
