"""Findings say what their frames say, whatever that is."""

import re

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import confound, findings, robustness

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


def test_who_reaches_is_named_and_the_last_of_them_has_the_interval():
    far = {
        "kerple-log": (20, 20),
        "sandwich": (18, 16),
        "rope": (0, 2),
        "rope-local": (20, 20),
        "alibi-ssmax": (20, 20),
    }
    found = findings.who_reaches(counts(far))._asdict()
    assert found["finding"] == (
        "Of 3 encodings without SSMax 1 finds at least 0.8 of the passkeys at 64 times the training length, by the "
        "whole interval: KERPLE log; 1 finds fewer, at most 0.05 [0.00, 0.69]; 1 is undecided."
    )
    assert found["more"] == (
        "These: KERPLE log 1.00. Fewer: RoPE 0.05. Undecided: Sandwich 0.85 [0.21, 1.00]. With SSMax: ALiBi SSMax "
        "1.00. All rows of the benchmark that learn the task at up to 128 tokens; the line, 0.8, is ours."
    )
    assert found["value"] == 1 and found["low"] >= 0.8
    assert found["measured"] == "accuracy of KERPLE log"


def test_the_encodings_that_readers_look_for_are_named_among_the_others():
    said = findings.who_reaches(
        counts({"bam": (20, 20), "sandwich": (20, 20), "bam-bounded": (20, 20), "rope": (0, 0), "xpos": (0, 0)})
    )[0]
    assert said.startswith("Of 5 encodings without SSMax 3 find at least 0.8 of")
    assert said.endswith(
        "interval: BAM (2 forms) and Sandwich; 2 find fewer (RoPE among them), at most 0.00 [0.00, 0.09]."
    )
    windows = {"bam": (20, 20), "half-window-bam": (20, 20), "alternating": (20, 20), "rope": (0, 0)}
    said = findings.who_reaches(counts(windows))[0]
    assert ": BAM and 2 with a window on some heads or layers; 1 finds fewer" in said


def test_a_finding_is_the_same_when_it_is_read_again():
    """An empty cell would come back as NaN."""
    for hits in ({"rope": (0, 0)}, {"bam": (20, 20)}, {"bam": (20, 20), "rope": (0, 0)}):
        assert all(findings.who_reaches(counts(hits))[:3])
    assert all(findings.who_reaches(counts({"rope": (20, 20)}, near=10))[:3])


def test_nobody_reaches_or_nobody_has_learned():
    none = findings.who_reaches(counts({"rope": (0, 0), "nope": (2, 4)}))[0]
    assert none.startswith("Of 2 encodings without SSMax none finds at least 0.8 of the passkeys at 64 times")
    missed = findings.who_reaches(counts({"rope": (20, 20)}, near=10))
    assert missed[0] == "No encoding passed its gate." and np.isnan(missed[3])


def models(**both: tuple[tuple[int, int], ...]) -> pd.DataFrame:
    """Passkeys and addresses, of 20 each, of every seed of a composition."""
    return pd.DataFrame(
        {
            "encoding": name.replace("_", "-"),
            "seed": seed,
            "passed": True,
            "trained": 128,
            "longest": 8192,
            "longest_address": 1024,
            "at_longest_correct": passkeys,
            "at_longest_samples": 20,
            "near_longest_correct": addresses,
            "near_longest_samples": 20,
            "beyond_longest_correct": 1,
            "beyond_longest_samples": 20,
        }
        for name, each in both.items()
        for seed, (passkeys, addresses) in enumerate(each)
    )


BOTH, TELLS, FINDS = ((20, 20), (18, 20)), ((0, 20), (20, 20)), ((20, 2), (20, 3))


def test_who_divides_the_work_is_counted_beside_those_without_window_or_rotation():
    frame = models(half_rope_window=BOTH, half_rope=TELLS, half_window=FINDS, rope=((0, 0), (0, 0)))
    sentence, more, _, value, low, high, *_ = findings.dividing(frame)
    assert "In 2 of 2 pairs of models, one trained on each task, both answer at least 0.8, at 64 T and" in sentence
    assert "without the window in 1 of 2, without the rotation, which costs the near places, in 0 of 2." in sentence
    assert sentence.endswith("Places farther back are lost (0.05).")
    assert value == high == 1 and 0 < low < 1 and "Of 2 pairs that rotate all heads" in more and "0 do both." in more
    assert "Without the rotation it is the addresses that fail: 2 of 2 find the passkeys." in more
    layers = pd.concat([frame, models(rope_layer_2_bam=BOTH)])
    assert findings.dividing(layers)[1].endswith("2 do both (RoPE in layer 2 × BAM: 2).")
    alternating = pd.concat([frame, models(alternating=BOTH, rope_layers_1_2=TELLS)])
    sentence, more, *_ = findings.dividing(alternating)
    assert "half of the heads, or all layers but the last, rotate and see the latest T/4 tokens only" in sentence
    assert "In 4 of 4 pairs" in sentence and "without the window in 2 of 4," in sentence and "or one layer" in more
    failed = frame.assign(passed=frame["encoding"] != "half-window")
    assert findings.dividing(failed)[0] == "Not every composition has a model that passed its gate."


def test_what_mends_a_pretrained_model_is_told_with_the_interval_of_the_surest():
    losses = {
        ("as-is", 4096): (2.0, 2.2),
        ("as-is", 12288): (4.0, 4.4),
        ("yarn", 12288): (2.5, 2.7),
        ("sinks", 12288): (2.4, 2.4),
    }
    frame = pd.DataFrame(
        {"document": f"d{k}", "way": way, "length": length, "loss": loss, "trained": 8192, "model": "Small, 4 bits"}
        for (way, length), each in losses.items()
        for k, loss in enumerate(each)
    )
    sentence, more, measured, value, low, high, *_ = findings.pretrained(frame)
    assert sentence == (
        "Small, a language model with RoPE trained to 8,192 tokens, has a loss of 2.10 nats a token at 4,096 and of "
        "4.20 at 12,288; a window with four sinks 2.40, YaRN 2.60, without training."
    )
    assert measured == "gain by YaRN" and 0 < low < value < high and value == pytest.approx(1.6)
    assert "YaRN 1.50 to 1.70" in more
    assert np.isnan(findings.pretrained(frame[frame["length"] == 4096])[3])


def test_a_low_perplexity_that_retrieves_little_is_named():
    names = ("bam", "alibi", "kerple-log", "sandwich", "rope")
    frame = pd.DataFrame(
        {
            "encoding": names,
            "multiple": 16.0,
            "perplexity": [4.0, 4.1, 4.2, 4.3, 40.0],
            "accuracy": [1.0, 0.1, 0.9, 1.0, 0.0],
            "decides": [True] * 5,
        }
    )
    sentence, more, _, value, *_ = findings.perplexity_misleads(frame)
    assert sentence.endswith(
        "of the 4 within a fifth of the best at 16 times the training length, 3 find at least 0.8 of the "
        "passkeys there and 1 only 0.10."
    )
    assert more.endswith("These retrieve little: ALiBi (perplexity 4.10, accuracy 0.10).") and value == 0.25
    assert (
        "Of the 1 with a higher one 0 find as much. Rank correlation of perplexity and accuracy: -0.46 over all" in more
    )
    assert np.isnan(findings.perplexity_misleads(frame[:1])[3])


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


def test_what_one_length_costs_is_told_by_encoding():
    frame = one_length_each(rope=(0.2, 0.21, 0.22), nope=(0.98, 0.99, 1.0), alibi=(0.6, 0.9, 1.0))
    sentence, more, measured, value, low, high, *_ = findings.one_length(frame)
    assert "128 tokens, RoPE finds 0.79 fewer of the passkeys" in sentence
    assert sentence.endswith("; within 0.05 for NoPE; undecided for ALiBi.")
    assert measured == "fewer, RoPE"
    assert low < value < high and value == pytest.approx(0.79) and "3 of 9 trained at one, 0 of 9 at many" in more
    level = findings.one_length(frame[frame["encoding"] == "nope"])
    assert "costs no encoding for certain anything" in level[0] and level[2] == "fewer, NoPE"


def test_a_difference_that_is_none_is_no_cost():
    said = findings.one_length(one_length_each(rope=(0.2, 0.21, 0.22), bam=(0.99, 0.98, 0.985)))[0]
    assert "tokens, RoPE finds" in said and said.endswith("; within 0.05 for BAM.")


def test_a_cost_that_needs_all_seeds_is_not_called_certain():
    frail = findings.one_length(one_length_each(rope=(0.3, 0.7, 0.6, 0.4), sinusoidal=(0.2, 0.21, 0.22, 0.2)))
    assert (
        "tokens, Sinusoidal finds" in frail[0] and "; certain only with all seeds: RoPE 0.50 [0.21, 0.79]" in frail[0]
    )


@pytest.mark.parametrize(("turned", "said"), [(0, "None {} turns"), (2, "2 {} turn")])
def test_other_recipes_are_told_by_the_pairs_that_they_turn(turned, said):
    rows = [["larger", 10, 0.9, 0.7, 1.0, 31, 30, 0], ["own rates", 10, 0.94, 0.6, 1.0, 31, 28, turned]]
    told, more = findings.other_recipes(pd.DataFrame(rows, columns=robustness.ORDER))
    pairs = "of the 31 pairs that differ among the 10 of the main comparison"
    assert told == f"{said.format(pairs)} by 2 other recipes."
    assert more.endswith("they keep 28 to 30 (larger models and own rates; Kendall's τ 0.90 to 0.94).")


RESULTS = config.ROOT / "results"


def committed(name: str, profile: str = "full") -> pd.DataFrame:
    (path,) = (RESULTS / profile / "metrics").glob(f"{name}.csv*")
    return pd.read_csv(path)


def without(frame: pd.DataFrame, *columns: str) -> list[pd.DataFrame]:
    """The frame without each value of each column in turn."""
    return [frame[frame[column] != value] for column in columns for value in frame[column].unique()]


def test_the_committed_findings_stand_without_any_one_encoding_and_any_one_seed():
    for frame in without(committed("division_models"), "encoding", "seed"):
        sentence, *_, low, _ = findings.dividing(frame)
        both, rest = re.search(r"In (\d+) of \1 pairs", sentence), re.findall(r" in (\d+) of (\d+)[,.]", sentence)
        assert both and low > 0.65 and all(int(some) <= 0.3 * int(of) for some, of in rest[-2:]), sentence
    for frame in without(committed("encodings_counts"), "encoding", "seed"):
        sentence, _, _, _, low, *_ = findings.who_reaches(frame)
        reach, fewer = re.search(r"SSMax (\d+) find", sentence), re.search(r"; (\d+) find fewer", sentence)
        assert low >= findings.GOOD and int(reach[1]) >= 8 and int(fewer[1]) >= 15, sentence
    for frame in without(committed("robustness_counts"), "encoding", "seed"):
        found = robustness.order(frame)
        assert findings.other_recipes(found)[0].startswith("None of the ") and found["tau"].min() > 0.75
    for frame in without(committed("perplexity_and_retrieval"), "encoding"):
        assert 0.3 < findings.perplexity_misleads(frame)[3] < 0.5
    for frame in without(committed("passkey_confound"), "encoding", "seed"):
        sentence, *_, low, _ = findings.one_length(frame)
        assert re.search(r"tokens, [^;]*(RoPE|Sinusoidal) finds? ", sentence) and low > 0.3, sentence
    for frame in without(committed("pretrained_losses", "cpu"), "document"):
        assert findings.pretrained(frame)[4] > 0.5


def test_a_profile_without_compositions_and_pretrained_model_has_the_other_findings():
    perplexity = pd.DataFrame(
        {"encoding": ["bam"], "multiple": 16.0, "perplexity": 4.0, "accuracy": 1.0, "decides": True}
    )
    one = pd.DataFrame(
        {"training": way, "encoding": "nope", "seed": seed, "length": length, "trained": 128, "accuracy": 1.0}
        for way in (confound.FIXED, confound.VARIED)
        for seed in (0, 1)
        for length in (96, 128)
    )
    none = pd.DataFrame()
    unknown = pd.DataFrame([["larger", 1, np.nan, -1.0, 1.0, 0, 0, 0]], columns=robustness.ORDER)
    found = findings.findings(none, counts({"bam": (20, 20)}), none, perplexity, one, unknown)
    assert list(found["figure"]) == ["encodings_accuracy", "perplexity_and_retrieval", "passkey_confound"]
