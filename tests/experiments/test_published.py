"""Published pairs: a prediction can be right, wrong or absent."""

import pandas as pd

from attention_priors.experiments import published

NAMES = ("bam-ssmax", "rope-ssmax", "alibi-ssmax", "rope-local", "sinusoidal-ssmax")


def frames(shares, losses, seeds=(0, 1, 2)):
    """Shares answered at 8T and losses there by encoding, with a little spread over seeds."""
    counts, texts = [], []
    for name in NAMES:
        for seed in seeds:
            for length in (96, 128, 1024, 65536):
                right = 100 if length <= 128 else round(100 * shares.get(name, 0)) + seed
                counts.append((name, seed, length, right if length < 65536 else 100, 100, 128))
            texts += [(name, 1, seed, n, losses.get(name, 3) + seed / 100, True, 128, True) for n in (128, 1024)]
    of_texts = ["encoding", "times", "seed", "length", "loss", "passed", "trained", "trained_on"]
    of_counts = ["encoding", "seed", "length", "correct", "samples", "trained"]
    return pd.DataFrame(counts, columns=of_counts), pd.DataFrame(texts, columns=of_texts)


def test_a_prediction_is_right_wrong_or_absent():
    counts, texts = frames({"bam-ssmax": 0.9, "rope-ssmax": 0.2, "alibi-ssmax": 0.5}, {"bam-ssmax": 4})
    says = published.predicted(counts, texts).set_index(["predictor", "table", "task", "first", "second"])["says"]
    of = says["passkeys", "BAM, Table 3", "Single 1"]
    assert of["bam-ssmax", "rope-ssmax"] == published.SAME and of["rope-ssmax", "alibi-ssmax"] == published.OPPOSITE
    assert of["rope-local", "sinusoidal-ssmax"] == published.NOTHING  # both fail
    assert of["bam-ssmax", "nope-ssmax"] == published.MISSING
    assert says["text", "BAM, Table 3", "Single 1"]["bam-ssmax", "rope-ssmax"] == published.OPPOSITE


def test_one_seed_predicts_nothing_and_lengths_beyond_the_tables_reach_do_not_count():
    counts, texts = frames({"bam-ssmax": 0.9}, {}, seeds=(0,))
    assert set(published.predicted(counts, texts)["says"]) == {published.NOTHING, published.MISSING}
    counts, texts = frames({}, {})
    found = published.predicted(counts, texts)
    assert (found[found["predictor"] == "passkeys"]["lead"].dropna() == 0).all()  # at 512T all answer
