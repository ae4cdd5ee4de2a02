"""Findings say what their frames say, whatever that is."""

import re

import numpy as np
import pandas as pd
import pytest

from attention_priors.evaluation import binomial_interval
from attention_priors.experiments import confound, findings, robustness
from figures.committed import frame as committed

LENGTHS = (96, 128, 512, 2048, 8192)


def counts(far: dict[str, tuple[int, ...]], near: int = 20) -> pd.DataFrame:
    """Hits of 20 prompts: `near` up to the training length, beyond it those of each seed."""
    return pd.DataFrame(
        {
            "encoding": name,
            "seed": seed,
            "length": length,
            "correct": near if length <= 128 else hits,
            "samples": 20,
            "trained": 128,
        }
        for name, each in far.items()
        for seed, hits in enumerate(each)
        for length in LENGTHS
    )


def test_encodings_with_a_window_are_named_together():
    windows = {"bam": (20, 20), "half-window-bam": (20, 20), "alternating": (20, 20), "rope": (0, 0)}
    said = findings.who_reaches(counts(windows))[0]
    assert ": BAM and 2 with a window on some heads or layers; 1 finds at most 0.00." in said


def test_ways_to_read_trained_weights_are_told_apart():
    """By hand: 15 of 20 is the better of two; RoPE itself is trained."""
    found = findings.who_reaches(counts({"rope": (0, 0), "rope-yarn": (15, 15), "rope-local": (1, 1)}))
    assert found[0].startswith("Of 1 encodings") and (
        " (2 ways to read trained weights are left out; the best, RoPE + YaRN, finds 0.75); the line" in found[1]
    )


def test_a_finding_is_the_same_when_it_is_read_again():
    """An empty cell would come back as NaN."""
    for hits in ({"rope": (0, 0)}, {"bam": (20, 20)}, {"bam": (20, 20), "rope": (0, 0)}):
        assert all(findings.who_reaches(counts(hits))[:3])
    assert all(findings.who_reaches(counts({"rope": (20, 20)}, near=10))[:3])


def test_nobody_reaches_or_nobody_has_learned():
    none = findings.who_reaches(counts({"rope": (0, 0), "nope": (2, 4)}))[0]
    assert none == (
        "Of 2 encodings without SSMax none finds at least 0.8 of the passkeys at 64 T by its whole interval; 2 find at "
        "most 0.15."
    )
    missed = findings.who_reaches(counts({"rope": (20, 20)}, near=10))
    assert missed[0] == "No encoding passed its gate." and np.isnan(missed[3])


def test_perplexity_goes_with_retrieval_but_for_windows_and_level_curves():
    """By hand: ranks fall one by one, RoPE Local is third of six, and of three level curves ALiBi's fails."""
    names = ("bam", "kerple-log", "alibi", "t5", "rope", "rope-local", "nope")
    read = {
        2.0: ((4.0, 4.1, 4.4, 4.0, 5.0, 4.2, 1.0), (1.0, 1.0, 0.9, 0.8, 0.2, 0.4, 1.0)),
        16.0: ((4.0, 4.1, 4.5, 4.7, 40.0, 4.2, 1.0), (1.0, 0.9, 0.3, 0.2, 0.0, 0.1, 1.0)),
    }
    rows = [(name, multiple, *own) for multiple, each in read.items() for name, *own in zip(names, *each, strict=True)]
    frame = pd.DataFrame(rows, columns=["encoding", "multiple", "perplexity", "accuracy"])
    frame["decides"] = frame["encoding"] != "nope"
    sentence, more, _, value, low, high = findings.perplexity_tells(frame)
    assert sentence == (
        "Over 5 encodings of 5 families, which see the whole text, lower perplexity at 16 T goes with retrieval; but a "
        "level curve proves none: of the 3 whose loss grows by at most 0.1 nats from 2 T to 16 T, 1 finds less than "
        "0.8 of the passkeys at 16 T in the mean (ALiBi 0.30)."
    )
    assert value == low == high == -1
    assert more.startswith(
        "Rank correlation of the families' means: -1.00. "
        "Over the 4 within a fifth of the best perplexity, 4.00: -1.00 [-1.00, -1.00]. RoPE Local, which sees a window "
        "only, has a lower perplexity than 3 of the 5 and finds 0.10 of the passkeys; with it -0.83"
    )
    turned = frame.assign(accuracy=frame["accuracy"].where(frame["encoding"] != "bam", 0.25))
    assert ", undecided. RoPE Local" in findings.perplexity_tells(turned)[1]
    level = frame[frame["encoding"] != "alibi"]
    assert findings.perplexity_tells(level)[0].endswith(
        "; the 2 whose loss grows by at most 0.1 nats from 2 T to 16 T find at least 0.8 of the passkeys at 16 T in "
        "the mean."
    )


def one_length_each(**places: tuple[float, ...]) -> pd.DataFrame:
    """Accuracy at shorter lengths of each seed of an encoding that is trained at one length; 1 elsewhere."""
    return pd.DataFrame(
        {
            "training": way,
            "encoding": name,
            "seed": seed,
            "length": length,
            "trained": 128,
            "accuracy": accuracy if way == confound.FIXED and length < 128 else 1.0,
        }
        for way in (confound.FIXED, confound.VARIED)
        for name, each in places.items()
        for seed, accuracy in enumerate(each)
        for length in (96, 112, 128)
    )


def test_what_one_length_costs_is_certain_frail_or_none():
    sentence, _, _, value, low, high, *_ = findings.one_length(
        one_length_each(rope=(0.2, 0.21, 0.22), nope=(0.98, 0.99, 1.0), alibi=(0.6, 0.9, 1.0))
    )
    assert "tokens, RoPE loses 0.79 of the passkeys at 96 to 112 tokens, against" in sentence and low < value < high
    assert sentence.endswith("without a key (3 seeds); NoPE at most 0.05; undecided for ALiBi.")
    level = findings.one_length(one_length_each(nope=(0.98, 0.99, 1.0)))
    assert "costs no encoding for certain anything" in level[0] and level[2] == "lost by NoPE"
    frail = findings.one_length(one_length_each(rope=(0.3, 0.7, 0.6, 0.4), sinusoidal=(0.2, 0.21, 0.22, 0.2)))[0]
    turned = one_length_each(rope=(0.2, 0.21, 0.22), alibi=(0.7, 0.71, 0.72))
    better = (turned["encoding"] == "alibi") & (turned["length"] < 128)
    swapped = turned.assign(accuracy=turned["accuracy"].mask(better, 1.7 - turned["accuracy"]))
    assert findings.one_length(swapped)[0].endswith("without a key (3 seeds); more for ALiBi.")
    assert "tokens, Sinusoidal loses 0.79" in frail and "; certain only with all seeds: RoPE 0.50 [0.21, 0.79]" in frail


def test_two_encodings_lose_at_shorter_lengths_and_predicted_seeds_are_told_apart():
    """By hand: RoPE loses 0.62 over all seeds, 0.7 over seeds 5 to 7; longer prompts would tell the opposite."""
    lost = {"sinusoidal": (0.8, 0.8, 0.8, 0.8, 0.8), "rope": (0.5, 0.5, 0.6, 0.7, 0.8)}
    rows = []
    for name, each in lost.items():
        for seed, loss in enumerate(each, start=3):
            at = 1.0 if name == "rope" else 0.8  # too few right for a table
            told = {96: 0.8 - loss, 112: 1 - loss, 128: at, 160: 1.0}
            rows += [(confound.FIXED, name, seed, length, told[length]) for length in told]
            rows += [(confound.VARIED, name, seed, length, 0.9 * (length < 160)) for length in told]
    frame = pd.DataFrame(rows, columns=["training", "encoding", "seed", "length", "accuracy"]).assign(trained=128)
    sentence, more, measured, value, low, high = findings.one_length(frame)
    assert sentence.endswith(
        "exactly 128 tokens, RoPE and Sinusoidal lose 0.62 and 0.80 of the passkeys at 96 to 112 tokens, against "
        "training on varied lengths, cut texts and texts without a key (5 seeds)."
    )
    assert "RoPE 0.62 [0.46, 0.78], by seed 0.50 to 0.80; Sinusoidal 0.80 [0.80, 0.80], by seed 0.80." in more
    assert "at a shorter length: 5 of 10 trained at one, 0 of 10 at many." in more
    assert more.endswith(
        " What RoPE loses, by length: 96 0.72, 112 0.52. Over the 3 seeds whose sign was predicted, RoPE: "
        "0.70 [0.45, 0.95]."
    )
    assert measured == "lost by RoPE"
    spared = findings.one_length(one_length_each(rope=(*[0.2] * 8, 0.9)))[0]
    assert spared.endswith("(9 seeds; 1 of RoPE's less than 0.2).")
    half = 2.776 * (0.068 / 4 / 5) ** 0.5  # t of 5 seeds, their squares about the mean
    assert (value, low, high) == pytest.approx((0.62, 0.62 - half, 0.62 + half), abs=1e-4)


def test_pairs_that_do_both_are_counted_by_what_their_heads_have():
    """By hand, of 20 passkeys, 10 near and 10 far addresses: 16 and 8 are enough, and the gate leaves one pair out."""
    pairs = {
        "half-rope-window": [(20, 10, 1), (16, 8, 0), (15, 10, 2), (20, 7, 3), (20, 10, 10)],
        "half-rope": [(20, 10, 9), (15, 10, 9), (20, 0, 9)],
        "half-window": [(20, 8, 9), (16, 7, 9), (20, 0, 9), (0, 10, 9), (0, 0, 9)],
        "rope": [(0, 10, 9)],
        "bam": [(20, 9, 9), (16, 7, 9), (20, 6, 9)],
    }
    columns = ["encoding", *(f"{task}_longest_correct" for task in ("at", "near", "beyond"))]
    frame = pd.DataFrame([(name, *own) for name, each in pairs.items() for own in each], columns=columns)
    frame = frame.assign(at_longest_samples=20, near_longest_samples=10, beyond_longest_samples=10)
    frame = frame.assign(trained=128, longest=4096, longest_address=512, passed=frame["beyond_longest_correct"] < 10)
    sentence, more, _, value, *_ = findings.dividing(frame)
    assert value == 0.5 and sentence == (
        "Where half of the heads rotate within a window of T/4, 2 of 4 pairs of models, one for each task (1 "
        "encoding), "
        'answer at least 0.8 both of the passkeys at 32 T and of "which symbol stood k < T/4 places back?" at 4 T; '
        "without the window 1 of 3 do, without the rotation 1 of 5, of all others 1 of 4. Near is what the "
        "window sees: of all places asked, to T/2, they answer 0.51, and none of the 4 does both; BAM does in 2 of 3."
    )
    assert (
        "1 in 32 (0.15); of the others these do both, all places counted: Window T/4 on half, no rotation 2, " in more
    )
    assert "whole layers; those that do both: BAM 1 of 3." in more
    assert "asked for 20 passkeys" in more and "half of the heads 2 of 4 with the window, 1 of 3 without." in more
    none = findings.dividing(pd.concat([frame, frame.assign(encoding="alternating", passed=False)]))
    assert none[0] == sentence and f"(4 of {5 + len(frame)})" in none[1]
    assert "passed its gate (4 of 5)" in more and "fail: 3 of 5 find the passkeys. The others" in more
    rest = frame[frame["encoding"].isin(["half-rope-window", "half-rope", "half-window", "rope"])]
    assert "those that do both: none." in findings.dividing(rest)[1]
    everywhere = findings.dividing(frame.assign(passed=True, near_longest_correct=10, beyond_longest_correct=10))
    assert everywhere[0].endswith(", they answer 1.00, and 4 of the 5 do both; BAM does in 3 of 3.")


def test_what_mends_a_trained_rope_is_told_at_the_longest_and_the_number_is_of_the_surest_gain():
    """By hand: YaRN gains 1.9 and 2.1, the NTK-aware base 1.0 and 3.4, a larger mean of which less is certain."""
    losses = {(64, "as-is"): (9.0, 9.0), (128, "as-is"): (1.0, 1.4), (128, "yarn"): (0.5, 0.5)}
    losses |= {(512, "as-is"): (4.0, 5.0), (512, "yarn"): (2.1, 2.9), (512, "ntk"): (3.0, 1.6)}
    rows = [(*at, document, loss) for at, each in losses.items() for document, loss in enumerate(each)]
    frame = pd.DataFrame(rows, columns=["length", "way", "document", "loss"]).assign(model="Tiny, 4 bits", trained=200)
    keys = pd.DataFrame({"way": 2 * ["as-is"] + 3 * ["yarn"], "length": [64] + 4 * [500], "correct": [1, 0, 0, 1, 1]})
    sentence, more, measured, value, low, high = findings.pretrained(frame, keys)
    assert sentence == (
        "Tiny (4 bits, RoPE, trained to 200 tokens) has a loss of 4.50 nats a token at 512, and 2.50 under YaRN, "
        "without training (2 documents); whether it finds passkeys there is undecided (2 of 3 passkeys at 500 against "
        "0)."
    )
    assert more == (
        "The loss up to 200 tokens is 1.20 to 9.00; at 128 it is 1.20, under YaRN 0.50. "
        "At 512: YaRN 2.50 (gains by document 1.90 to 2.10); "
        "the NTK-aware base 2.30 (gains by document 1.00 to 3.40). The surest of these is told."
    )
    many = pd.concat([keys.assign(correct=keys["way"] == "yarn")] * 9)
    assert findings.pretrained(frame, many)[0].endswith("; it finds 27 of 27 passkeys at 500 against 0.")
    parts = pd.concat([frame, frame[frame["document"] == 0].assign(document=2)])
    parts["document"] = parts["document"].map({0: "guide-1", 1: "guide-2", 2: "other"})
    assert findings.pretrained(parts)[1].endswith("With parts of a document as one: 1.95 [1.31, 2.59], 2 documents.")
    surer = frame[(frame["length"] == 512) & (frame["way"] == "as-is")].assign(way="dynamic-ntk", loss=[1.0, 2.0])
    told = findings.pretrained(pd.concat([frame, surer]))[1]
    assert told.endswith("; of all 3 ways dynamic NTK, whole pass has the highest lower bound, 3.00.")
    assert measured == "gain by YaRN" and (value, low, high) == pytest.approx((2.0, 0.7294, 3.2706), abs=1e-4)


@pytest.mark.parametrize(
    ("turned", "said"),
    [
        (0, "None of the {} changes order under any of 2 other recipes."),
        (2, "Of the {} 2 change order under one of 2 other recipes, at most."),
    ],
)
def test_other_recipes_are_told_by_the_pairs_that_they_turn(turned, said):
    rows = [["larger", 10, 0.9, 0.7, 1.0, 31, 30, 0], ["own rates", 10, 0.94, 0.6, 1.0, 31, 28, turned]]
    told, more = findings.other_recipes(pd.DataFrame(rows, columns=robustness.ORDER))
    assert told == said.format("31 pairs that differ among the 10 of the main comparison")
    assert more.endswith("they keep 28 to 30 for certain (larger models and own rates; Kendall's τ 0.90 to 0.94).")


def without(frame: pd.DataFrame, *columns: str) -> list[pd.DataFrame]:
    """The frame without each value of each column in turn."""
    return [frame[frame[column] != value] for column in columns for value in frame[column].unique()]


def test_the_committed_findings_stand_without_any_one_encoding_and_any_one_seed():
    for frame in without(committed("division_models"), "encoding", "seed"):
        sentence, *_, low, _ = findings.dividing(frame)
        both, rest = re.search(r"(\d+) of \1 pairs", sentence), re.findall(r"out the \w+ (\d+) of (\d+)", sentence)
        assert both and len(rest) == 2 and low > 0.65 and all(int(some) <= 0.3 * int(of) for some, of in rest), sentence
    for frame in without(committed("encodings_counts"), "encoding", "seed"):
        sentence, _, _, _, low, *_ = findings.who_reaches(frame)
        reach, fewer = re.search(r"SSMax (\d+) find", sentence), re.search(r"; (\d+) find at most", sentence)
        assert low >= findings.GOOD and int(reach[1]) >= 8 and int(fewer[1]) >= 15, sentence
    for frame in without(committed("robustness_counts"), "encoding", "seed"):
        found = robustness.order(frame)
        assert findings.other_recipes(found)[0].startswith("None of the ") and found["tau"].min() > 0.75
    for frame in without(committed("perplexity_and_retrieval"), "encoding"):
        sentence, _, _, rho, _, high, *_ = findings.perplexity_tells(frame)
        assert rho < -0.8 and high < -0.5 and re.search(r" at 64 T in the mean \(.*ALiBi.* 0.0\d", sentence), sentence
    for frame in without(committed("passkey_confound"), "encoding", "seed"):
        sentence, _, measured, _, low, _ = findings.one_length(frame)
        assert measured.startswith("lost by ")
        assert re.search(r"tokens, [^;]*(RoPE|Sinusoidal) loses? ", sentence) and low > 0.3, sentence
    for frame in without(committed("pretrained_losses"), "document"):
        assert findings.pretrained(frame)[4] > 0.5


def test_a_profile_without_compositions_and_pretrained_model_has_the_other_findings():
    none, unknown = pd.DataFrame(), committed("robustness_order").assign(tau=np.nan, encodings=1, pairs=0)
    there = [committed(metric) for metric in ("perplexity_and_retrieval", "passkey_confound")]
    found = findings.findings(none, counts({"bam": (20, 20)}), none, none, *there, unknown)
    assert list(found["figure"]) == ["encodings_far", "perplexity_and_retrieval", "passkey_confound"]


def test_who_stands_by_the_whole_interval():
    bounds = {"a": (0.8, 1.0), "b": (0.7, 0.95), "c": (0.3, 0.79), "d": (0.3, 0.8)}
    sides = findings.standing(pd.Series({"a": 0.9, "b": 0.85, "c": 0.5, "d": 0.5}), bounds)
    assert [list(each.index) for each in sides] == [["a"], ["c"], ["b", "d"]]


def test_who_reaches_is_asked_at_64_t_and_without_ssmax():
    both = counts({"bam": (20, 20), "bam-ssmax": (20, 20)})
    longer = both[both["length"] == 8192].assign(length=16384, correct=0)
    sentence, more, *_ = findings.who_reaches(pd.concat([both, longer]))
    assert sentence.startswith("Of 1 encodings without SSMax 1 finds at least 0.8 of the passkeys at 64 T")
    assert f"With SSMax: {findings.label('bam-ssmax')} 1.00." in more


def test_a_small_or_negative_mean_with_a_wide_interval_is_undecided():
    said = findings.one_length(one_length_each(nope=(0.9, 1.0, 1.0), alibi=(1.3, 0.9, 1.1)))[0]
    assert said.endswith("; undecided for ALiBi and NoPE.")


def test_three_of_four_keys_against_none_are_undecided():
    keys = pd.DataFrame({"way": ["as-is"] * 4 + ["yarn"] * 4, "length": 500, "correct": [0, 0, 0, 0, 1, 1, 1, 0]})
    assert "is undecided (3 of 4 passkeys at 500 against 0)" in findings._fetched(keys, "yarn")  # Fisher's p is 0.14


def test_a_correlation_whose_interval_holds_0_does_not_for_certain_go():
    accuracy = dict(zip(("bam", "kerple-log", "alibi", "t5", "rope"), (0.6, 1.0, 0.2, 0.7, 0.3), strict=True))
    rows = [(name, 16.0, 4.0 + k, own, True) for k, (name, own) in enumerate(accuracy.items())]
    frame = pd.DataFrame(rows, columns=["encoding", "multiple", "perplexity", "accuracy", "decides"])
    sentence, _, _, rho, _, high = findings.perplexity_tells(frame)
    assert rho < 0 < high and "does not for certain go with retrieval" in sentence


def test_a_share_of_models_and_seeds_that_differ_have_their_intervals():
    assert findings.share(2, 4) == (0.5, *binomial_interval(2, 4))
    assert "Undecided: BAM 0.67 [0.00, 1.00]." in findings.who_reaches(counts({"bam": (20, 0, 20)}))[1]


def test_a_seed_that_was_not_trained_both_ways_is_left_out():
    frame = one_length_each(rope=(0.2, 0.2, 0.2))
    frame = frame[(frame["seed"] != 2) | (frame["training"] == confound.FIXED)]
    assert findings.one_length(frame)[3] == pytest.approx(0.8)
