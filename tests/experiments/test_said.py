"""Sentences of the notebooks: of numbers worked out by hand, of fewer than are committed, and of the opposite."""

import numpy as np
import pandas as pd
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
    ("within", "too"),
    [
        ((-0.9, -0.8, -0.85), "that holds, too"),
        ((0.9, 0.8, 0.85), "the opposite holds"),
        ((-0.9, 0.8, 0.1), "that is not certain"),
    ],
)
def test_an_exponent_goes_with_attention_where_the_interval_is_below_zero(within, too):
    rows = frame("learned_correlations").query("seed < 3")
    every = rows["reading"] == "attention on the key, all heads"
    told = rows.assign(rho=rows["seed"].map(dict(enumerate(within))).mask(every, -0.5))
    sentence, _, _, value, low, high, *_ = said.exponents(told)
    assert f"the same, {too} (" in sentence and f"below zero in {sum(rho < 0 for rho in within)} of 3" in sentence
    assert -1 <= low <= value <= high <= 1


def test_mixed_signs_help_where_they_lead_for_certain():
    rows = frame("ablation_priors")
    mixed = rows["arm"] == "bam-mixed-ssmax"
    for best, helps in ((mixed, "Mixing signs helps."), (~mixed, "Mixing signs harms.")):
        sentence, _, _, value, low, high, *_ = said.signs(rows.assign(correct=rows["samples"].where(best, 0)))
        assert sentence.endswith(helps) and low <= value <= high


def test_pairs_are_told_of_who_learned_them_with_every_seed():
    shares = {"rope": 0.1, "alibi": 0.66, "bam": 1.0, "nope": 0.97, "t5": 0.99}  # T5 with one seed of two
    rows = frame("recall_surface")
    rows = rows[rows["encoding"].isin(shares) & rows["length"].isin([128, 2048])].assign(seeds=2, mean=1.0)
    rows["passed"] = rows["seeds"].where(rows["encoding"] != "t5", 1)
    hard = (rows["load"] == 64) & (rows["length"] == 2048)
    rows.loc[hard, "mean"] = rows["encoding"].map(shares)
    assert said.recall(rows)[0] == (
        "At 16 times the training length, with 64 pairs in the text, 2 of the 4 encodings that learned the task with "
        "every seed still answer 0.95 of the queries or more in the mean: BAM and NoPE; 1 between that and half: ALiBi "
        "0.66; 1 fewer than half: RoPE 0.10."
    )


def test_goat_is_told_against_each_rival_far_on_its_own_kind_of_text():
    """By hand: Goat's loss less the rival's; other text, shorter lengths and pairs the other way say something else."""
    pairs = [
        ("goat-composite", "bam", 3, -0.1, -0.2, 0.02),
        ("goat-composite", "alibi", 3, 0.3, 0.25, 0.35),
        ("goat-composite", "rope", 3, -2.0, -2.5, -1.5),
        ("goat-code", "alibi", 1, 5.0, -np.inf, np.inf),
        ("goat-code", "bam", 3, 0.04, -0.01, 0.09),
    ]
    own = pd.DataFrame(pairs, columns=["encoding", "rival", "seeds", "gap", "low", "high"])
    own = own.assign(length=512, trained=128, trained_on=True)
    turned = own.rename(columns={"encoding": "rival", "rival": "encoding"}).assign(gap=-own["gap"])
    rows = pd.concat([turned, own.assign(gap=7.0, trained_on=False), own.assign(gap=8.0, length=256), own])
    sentence, _, measured, *number = said.spectra(rows)
    assert sentence.endswith(
        "at 4 times the training length, the loss of Goat in its composite form less that of others, in nats: "
        "BAM -0.10 [-0.20, 0.02]; ALiBi +0.30 [0.25, 0.35]; RoPE -2.00 [-2.50, -1.50]. In the form of the authors' "
        "code: BAM +0.04 [-0.01, 0.09]."
    )
    assert measured == "from BAM" and number == [-0.1, -0.2, 0.02]
    sentence, _, measured, *number = said.spectra(rows[rows["rival"] != "bam"])
    assert "in nats: ALiBi +0.30" in sentence and measured == "from ALiBi" and number == [0.3, 0.25, 0.35]


def test_fewest_bits_are_told_of_all_windows_and_of_new_ones_by_who_passed():
    """By hand: on new windows RoPE needs 0.08, 0.10 and 0.12 bits more than BAM, ALiBi 0.01, -0.01 and 0.03 (not
    certain); the others are read as well by all but BAM, which is 0.3 bits worse there."""
    seeds = {"rope": (1.98, 2.0, 2.02), "bam": (1.9, 1.9, 1.9), "alibi": (1.91, 1.89, 1.93), "nope": (1.0, 1.0, 1.0)}
    rows = [
        (name, seed, bits, new, name != "nope")
        for name, each in seeds.items()
        for seed, mean in enumerate(each)
        for bits, new in ((mean - 0.3, True), (mean + 0.3, True), (mean + 0.6 * (name == "bam"), False))
    ]
    frame = pd.DataFrame(rows, columns=["encoding", "seed", "bits", "new", "passed"])
    sentence, _, measured, *number = said.genomes(frame)
    assert sentence == (
        "Of the models that passed the gate: on all validation windows ALiBi needs fewest bits a base, 1.910; RoPE "
        "2.000; BAM 2.100. On those new to the "
        "training text BAM needs fewest bits a base, 1.900 (its lead over ALiBi is not certain); ALiBi 1.910; RoPE "
        "2.000."
    )
    half = 4.303 * 0.02 / 3**0.5  # 0.07, 0.11 and 0.09
    assert measured == "gain over RoPE on all, in bits a base"
    assert number == pytest.approx([0.09, 0.09 - half, 0.09 + half], abs=1e-4)
    led = said.genomes(frame.assign(bits=-frame["bits"]).query("encoding in ('rope', 'alibi')"))
    assert "RoPE needs fewest" in led[0] and led[2:4] == ("gain over ALiBi on all, in bits a base", pytest.approx(0.09))


def test_chunks_are_told_beside_the_best_way_without_them():
    """By hand, at the longest length; nearer all is turned round. All chunks (0.95) is no way without chunks."""
    far = {"plain": 0.1, "yarn": 0.3, "last-window": 0.2, "all": 0.95, "k3": 0.6, "lexical": 0.7, "oracle": 0.8}
    rows = [("rope", name, mean) for name, mean in far.items()]
    rows += [("bam", "plain", 0.9), ("bam", "yarn", 0.97), ("bam", "k3", 0.05), ("alibi", "plain", 0.99)]
    own = pd.DataFrame(rows, columns=["encoding", "method", "mean"]).assign(length=512, trained=128, passed=2)
    frame = pd.concat([own, own.assign(length=256, mean=1 - own["mean"])])
    sentence, _, _, *number = said.chunks(frame.assign(low=frame["mean"] - 0.2, high=frame["mean"] + 0.1))
    assert sentence == (
        "At 4 times the training length a model with RoPE finds 0.10 read as trained, 0.60 in chunks of which its own "
        "loss chooses three, 0.70 if BM25 chooses them, 0.80 if an oracle does (fractions of the keys); the best of 3 "
        "ways without chunks, YaRN, finds 0.30 [0.10, 0.40]; one with BAM's prior finds 0.90 without any chunks."
    )
    assert number == pytest.approx([0.6, 0.4, 0.7])
    missed = frame.assign(low=0.0, high=1.0, passed=frame["passed"].mask(frame["encoding"] == "bam", 1))
    assert said.chunks(missed)[0].endswith("finds 0.30 [0.00, 1.00].")


def test_what_randomised_positions_gain_is_paired_with_the_same_encoding_without():
    """By hand: copy 0.4 and 0.2 on seed 0, 0.6 and 0.4 on seed 1; parity -0.2 and 0. NoPE has no partner."""
    beyond = {  # copy on both seeds, parity on both
        "rope": (0.3, 0.3, 0.6, 0.6),
        "rope-randomised-128": (0.7, 0.9, 0.4, 0.4),
        "sinusoidal": (0.5, 0.5, 0.5, 0.5),
        "sinusoidal-randomised-128": (0.7, 0.9, 0.5, 0.5),
        "nope": (1.0, 1.0, 1.0, 1.0),
    }
    within = dict.fromkeys(beyond, (0.5, 0.5, 0.5, 0.5)) | {"sinusoidal": (0.94, 0.98, 0.9, 0.96)}  # mean 0.96, 0.93
    rows = [
        (part, name, task, seed, own[2 * (task == "parity") + seed])
        for part, each in (("trained", within), ("beyond", beyond))
        for name, own in each.items()
        for task in ("parity", "copy")
        for seed in (0, 1)
    ]
    sentence, _, _, *number = said.strings(pd.DataFrame(rows, columns=["part", "encoding", "task", "seed", "accuracy"]))
    assert sentence.endswith(
        "of right symbols: copy +0.40; parity -0.10. No encoding answers 0.95 of parity within the training lengths."
    )
    assert number == pytest.approx([0.15, 0.15 - 12.706 * 0.05, 0.15 + 12.706 * 0.05], abs=1e-4)


def test_masses_of_a_few_encodings_are_not_compared():
    few = frame("encodings_tails").query("encoding in ['bam', 'nope']")
    assert said.masses(few)[0] == "2 encodings passed their gate: too few to compare their masses."


def test_needles_are_compared_on_tasks_that_four_encodings_learned():
    """By hand: one task by four encodings (one of them with one seed of two), one by three with many seeds."""
    rows = [
        ("single-1", name, seed, name != "t5" or not seed) for name in ("bam", "nope", "rope", "t5") for seed in (0, 1)
    ]
    rows += [("multikey-1", name, seed, name != "t5") for name in ("bam", "nope", "rope", "t5") for seed in (0, 1)]
    gates = pd.DataFrame(rows, columns=["task", "encoding", "seed", "passed"])
    assert said.needles(gates)[0] == (
        "1 of the 2 tasks that the profile trains are learned by at least 4 of 4 encodings (single-1); only on these "
        "are encodings compared."
    )


def test_far_needles_are_told_of_encodings_that_learned_and_are_trained():
    """By hand: at the longest length two find all, one nothing, two seeds of one disagree; YaRN is RoPE read anew."""
    far = {"bam": (1.0, 1.0), "kerple-log": (1.0, 1.0), "rope": (0.0, 0.0), "bam-ssmax": (1.0, 0.2), "t5": (1.0, 1.0)}
    rows = [(name, seed, score, name != "t5") for name, each in far.items() for seed, score in enumerate(each)]
    own = pd.DataFrame([*rows, ("rope-yarn", 0, 1.0, True)], columns=["encoding", "seed", "score", "passed"])
    own = own.assign(length=512, trained=128, prompts=100)
    nearer = own.assign(length=256, score=1 - own["score"])
    sentence, _, measured, value, low, high = said.far_needles(pd.concat([nearer, own]))
    assert sentence.startswith(
        "Of 4 trained encodings that learned them 2 find 0.8 of the needles at 4 times the training length, by the "
        "whole interval: BAM and KERPLE log; 1 finds fewer, undecided: 1. BAM SSMax, which leads in BAM's tables, "
        "finds 0.60 ["
    )
    assert measured == "lowest of those that find them, KERPLE log" and 0.8 < low < value == high == 1


def test_heads_are_counted_against_the_freezing_scale_at_the_trained_length():
    """By hand: at 128 tokens the scale is sqrt(2 / ln 128) = 0.642; longer texts say the opposite."""
    own = pd.DataFrame({"seed": [0, 0, 0, 1, 1, 1], "product": [0.3, 0.64, 0.65, 0.1, 0.2, 0.9], "scale": 0.5})
    heads = pd.concat([own.assign(length=128), own.assign(length=512, product=2.0)]).assign(trained=128)
    sentence, _, _, value, low, high = said.sharpness(heads)
    assert sentence == (
        "At the trained length, 128 tokens, half of 6 heads have |s|σ above 0.47, and 2 are sharper than the "
        "formula's freezing scale. The factor s started at 1; its median is 0.50 now, 1 / ln 128 is 0.21."
    )
    half = 12.706 * 0.22
    assert (value, low, high) == pytest.approx((0.42, 0.42 - half, 0.42 + half), abs=1e-3)


def test_growth_is_told_for_each_size_by_the_upper_limit():
    """By hand: at the larger size BAM may grow by 0.11; who loses least is not who grows least."""
    rows = [
        ("bam", 96, 3e5, 2.1, 0.02, 0.01, 0.1),
        ("alibi", 96, 3.1e5, 2.0, 0.3, 0.2, 0.4),
        ("bam", 192, 1.2e6, 1.8, 0.03, -0.05, 0.11),
        ("alibi", 192, 1.21e6, 1.9, 0.4, 0.3, 0.5),
    ]
    columns = ["encoding", "width", "parameters", "loss", "growth", "growth_low", "growth_high"]
    own = pd.DataFrame(rows, columns=columns).assign(length=512, trained=128, seeds=3, documents=100)
    one = own.iloc[:1].assign(encoding="nope", seeds=1, growth=9.0)
    near = own.assign(length=256, growth=5.0, growth_high=6.0)
    sentence, _, measured, *number = said.scale(pd.concat([near, own, one]))
    assert sentence == (
        "At 4 times the training length, on 100 documents, these models stay within 0.1 nats of their loss at T: of "
        "0.3 million parameters BAM (lowest mean: ALiBi, 2.000); of 1.2 million parameters none (lowest mean: BAM, "
        "1.800). The losses of ALiBi certainly grow by more, 0.30 to 0.40 nats."
    )
    assert measured == "growth of ALiBi" and number == [0.4, 0.3, 0.5]
