"""Language models of several sizes: intervals over documents and seeds at once."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from attention_priors.evaluation import crossed_interval
from attention_priors.experiments import language_scale, said
from attention_priors.figures import FIGURES, TABLES


@pytest.mark.parametrize(("documents", "seeds"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.3, 1.0)])
def test_an_interval_of_two_samples_covers_as_often_as_it_says(documents, seeds):
    generator, hits, wide, rounds = np.random.default_rng(0), 0, 0.0, 400
    for _ in range(rounds):
        values = documents * generator.normal(size=(30, 1)) + seeds * generator.normal(size=(1, 5))
        low, high = crossed_interval(values + generator.normal(size=(30, 5)))
        hits += low <= 0 <= high
        wide += (high - low) / 2 / rounds
    deviation = np.sqrt(documents**2 / 30 + seeds**2 / 5 + 1 / 150)  # of the mean
    assert hits / rounds >= 0.93 and wide < 3 * deviation  # t with four degrees of freedom is 2.78


def test_one_document_or_one_seed_says_nothing_and_no_spread_is_a_point():
    for shape in ((1, 5), (5, 1)):
        assert crossed_interval(np.zeros(shape)) == (-np.inf, np.inf)
    assert crossed_interval(np.ones((3, 3))) == (1.0, 1.0)
    with pytest.raises(ValueError, match="confidence = 2"):
        crossed_interval(np.ones((3, 3)), 2)


def losses(growing=("rope",), missed=()):
    """Two sizes, three seeds, five documents; some encodings lose a nat at 64T."""
    rows = []
    places = itertools.product((96, 192), ("alibi", "rope"), range(3), (128, 8192), range(5))
    for width, name, seed, length, document in places:
        loss = 2 - width / 1000 + document / 10 + seed / 100 + (length > 128) * (name in growing)
        own = 1000 * width + 12 * (name == "rope")  # an encoding may have parameters of its own
        rows.append((name, width, seed, own, 5_000_000, (name, seed) not in missed, length, document, loss))
    columns = ["encoding", "width", "seed", "parameters", "tokens", "passed", "length", "document", "loss"]
    return pd.DataFrame(rows, columns=columns).assign(trained=128, scored=64)


def test_growth_is_paired_within_documents_and_seeds():
    found = language_scale.growth(losses(missed=[("alibi", 2)])).set_index(["encoding", "width", "length"])
    row = found.loc[("rope", 96, 8192)]
    assert (row["growth"], row["growth_low"], row["growth_high"]) == pytest.approx((1, 1, 1))
    assert row["loss_low"] < row["loss"] < row["loss_high"]  # documents differ
    assert found.loc[("alibi", 96, 128), "seeds"] == 2 and found.loc[("rope", 96, 128), "documents"] == 5


def test_who_misses_the_gate_in_all_seeds_is_a_row_without_a_loss():
    found = language_scale.growth(losses(missed=[("alibi", seed) for seed in range(3)]))
    own = found[found["encoding"] == "alibi"]
    assert (own["seeds"] == 0).all() and own["loss"].isna().all()
    small = language_scale.growth(losses(missed=[("alibi", 0)]))
    some = small.assign(seeds=small["seeds"].where((small["encoding"] != "alibi") | (small["width"] != 96), 0))
    assert TABLES["language_scale"].build(some)["encoding"].value_counts().to_dict() == {"RoPE": 2, "ALiBi": 1}
    assert (
        FIGURES["language_scale"].caption(some).endswith("Missed the gate of word order: ALiBi of 0.096M parameters.")
    )


def test_the_sentence_the_figure_and_the_table_name_sizes_and_growth():
    found = language_scale.growth(losses())
    sentence, _, measured, value, *_ = said.scale(found)
    assert (
        "At 64 times" in sentence and "on 5 documents" in sentence and sentence.count("ALiBi (lowest mean: ALiBi") == 2
    )
    assert sentence.count("million parameters") == 2  # one part a size
    assert (measured, value) == ("growth of RoPE", pytest.approx(1))
    assert np.isnan(said.scale(found.assign(seeds=1))[3])
    spec, table = FIGURES["language_scale"], TABLES["language_scale"].build(found)
    assert "0.19M parameters: ALiBi +0.00, RoPE +1.00" in spec.caption(found)
    assert table["growth"].str.startswith("1.000 [1.000, 1.000]").sum() == 2


def test_copies_of_what_is_scored_are_found_and_their_losses_told_apart():
    """By hand: the last two tokens stand once more five tokens back; a nat less where a document has a copy."""
    assert language_scale.copied(np.array([7, 1, 2, 3, 4, 5, 1, 2]), 2) == 5
    assert language_scale.copied(np.array([7, 1, 2, 3, 4, 5, 2, 1]), 2) == 0 == language_scale.copied(np.arange(3), 2)
    frame = losses(())
    copies = frame["document"].map({0: 300, 1: 4000, 2: 0, 3: 100, 4: 0})
    falls = (frame["encoding"] == "rope") & (frame["length"] > 128) & (copies >= 128)
    found = language_scale.recalled(frame.assign(copy=copies, loss=frame["loss"] - falls))
    own = found[(found["encoding"] == "rope") & (found["width"] == 96)].set_index("copied")
    assert own["documents"].to_dict() == {True: 2, False: 3}
    assert own["growth"].to_dict() == pytest.approx({True: -1, False: 0})
    sentence, _, measured, value, *_ = said.recalled(found)
    assert sentence.startswith("In 2 of 5 documents the 64 scored tokens stand once more") and value == -1
    assert sentence.endswith(
        "grows by -1.00 to 0.00 nats, model by model, that of the others by 0.00 to 0.00; it falls for certain for "
        "RoPE (0.096M) and RoPE (0.19M)."
    )
    assert measured == "growth of RoPE where it stands once more"
    none = said.recalled(language_scale.recalled(frame.assign(copy=0)))[0]
    assert none == "In fewer than two documents what is scored stands once more, farther back than T."


def test_an_interval_over_documents_and_seeds_by_hand():
    """Means of documents 1, 3, 8 (variance 13), of seeds 3, 5 (variance 2): 13 / 3 + 2 / 2 with 2 and 1 degrees."""
    values = np.array([[0.0, 2.0], [2.0, 4.0], [7.0, 9.0]])
    freedom = (16 / 3) ** 2 / ((13 / 3) ** 2 / 2 + 1)
    half = stats.t.ppf(0.95, freedom) * (16 / 3) ** 0.5
    assert crossed_interval(values, 0.9) == pytest.approx((4 - half, 4 + half))
