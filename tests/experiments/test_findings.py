"""Findings say what their frames say, whatever that is."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments import confound, findings
from attention_priors.experiments.differences import differences
from attention_priors.positions.encodings import ENCODINGS

LENGTHS = (96, 128, 512, 2048, 8192)


def counts(far: dict[str, tuple[int, ...]], near: int = 20) -> pd.DataFrame:
    """Hits of 20 prompts: `near` up to the training length, beyond it those of each seed."""
    return pd.DataFrame(
        {"encoding": name, "seed": seed, "length": length, "correct": near if length <= 128 else hits, "samples": 20,
         "trained": 128}
        for name, each in far.items() for seed, hits in enumerate(each) for length in LENGTHS
    )  # fmt: skip


def masses(**near_far_accuracy: tuple[float, float, float]) -> pd.DataFrame:
    return pd.DataFrame({"encoding": name, "seed": 0, "near": near, "far": far, "both": min(near, far),
                         "accuracy": accuracy, "passed": True}
                        for name, (near, far, accuracy) in near_far_accuracy.items())  # fmt: skip


SHARED = "with a prior's mass near the query and beyond the training length"
NONE = masses(nope=(0.1, 0.9, 0.0))  # too few to tell


def test_who_reaches_is_named_and_the_last_of_them_has_the_interval():
    found = dict(zip(findings.COLUMNS, findings.who_reaches(counts(
        {"kerple-log": (20, 20), "sandwich": (18, 16), "rope": (0, 2), "rope-local": (20, 20), "alibi-ssmax": (20, 20)}
    ), NONE), strict=True))  # fmt: skip
    assert found["finding"] == (
        "Without SSMax KERPLE log and Sandwich answer 0.85 to 1.00 of the passkeys at 64 times their training length, "
        "1 other at most 0.05 [0.00, 0.69]."
    )
    assert found["more"] == (
        "These: KERPLE log 1.00; Sandwich 0.85. The other: RoPE 0.05. With SSMax: ALiBi SSMax 1.00."
    )
    assert found["value"] == pytest.approx(0.85) and found["low"] < 0.85 < found["high"]
    assert found["measured"] == "lowest of these, Sandwich"
    assert found["figure"] == "encodings_accuracy"


def test_the_encodings_that_readers_look_for_are_named_among_the_others():
    said = findings.who_reaches(
        counts({"bam": (20, 20), "sandwich": (20, 20), "bam-bounded": (20, 20), "rope": (0, 0), "xpos": (0, 0)}), NONE
    )[0]
    assert said.startswith("Without SSMax BAM (2 forms) and Sandwich answer 1.00 of")
    assert said.endswith("training length, 2 others (RoPE among them) at most 0.00 [0.00, 0.09].")


def test_what_they_share_is_told_where_it_goes_with_accuracy():
    names = ("nope", "alibi", "t5", "sandwich", "kerple-log", "kerple-power")
    near, far = (0.1, 0.2, 0.3, 0.45, 0.5, 0.55), (0.99, 0.4, 0.98, 0.5, 0.97, 0.6)
    table = masses(**{name: (near[i], far[i], 0.1 * i) for i, name in enumerate(names)})
    hits = counts({"sandwich": (20, 20), "nope": (0, 0)})
    said, more, *_ = findings.who_reaches(hits, table)
    assert f"; over 6 encodings, with SSMax or without, accuracy goes {SHARED} (ρ = 1.00, p = " in said
    assert (
        "The other: NoPE 0.00. Over 6 encodings (with a prior or no position, with SSMax or without) accuracy goes with"
        in more
    )
    assert ", not for certain with " in more and more.endswith("), by rank correlation (p after Holm).")
    flat = table.assign(near=[3, 1, 2, 6, 4, 5], both=[2, 1, 4, 3, 6, 1])
    said, more, *_ = findings.who_reaches(hits, flat)
    assert said.endswith("1 other at most 0.00 [0.00, 0.09].") and more == "These: Sandwich 1.00. The other: NoPE 0.00."
    worse = table.assign(accuracy=-table["accuracy"])
    assert f"without, accuracy falls {SHARED}" in findings.who_reaches(hits, worse)[0]


def test_a_finding_is_the_same_when_it_is_read_again():
    """An empty cell would come back as NaN."""
    for hits in ({"rope": (0, 0)}, {"bam": (20, 20)}, {"bam": (20, 20), "rope": (0, 0)}):
        assert all(findings.who_reaches(counts(hits), NONE)[:3])
    assert all(findings.who_reaches(counts({"rope": (20, 20)}, near=10), NONE)[:3])
    assert all(findings.older_priors(differences(counts({"bam": (20, 20), "nope": (0, 0)})))[:3])


def test_nobody_reaches_or_nobody_has_learned():
    none = findings.who_reaches(counts({"rope": (0, 0), "nope": (2, 4)}), NONE)[0]
    assert none.startswith("Without SSMax no encoding answers 0.8 of the passkeys at 64 times")
    missed = findings.who_reaches(counts({"rope": (20, 20)}, near=10), NONE)
    assert missed[0] == "No encoding passed its gate." and np.isnan(missed[3])


@pytest.mark.parametrize(("table", "said"), [(True, "1 answer these and fail"), (False, "0 answer these and fail")])
def test_tables_are_counted(table, said):
    worst = {True: 0.2, False: 0.8}[table]
    frame = pd.DataFrame(
        {"training": way, "encoding": "rope", "seed": seed, "length": length, "trained": 128,
         "accuracy": worst if (way, seed, length) == (confound.FIXED, 0, 112) else 1.0}
        for way in (confound.FIXED, confound.VARIED) for seed in (0, 1) for length in (96, 112, 128)
    )  # fmt: skip
    sentence, _, _, value, low, high, *_ = findings.tables(frame)
    assert said in sentence and "; of 2 trained at varied lengths none does (Fisher's exact test: p = 1)." in sentence
    assert value == 0.5 * table and low <= value <= high


def test_the_difference_from_older_priors_has_its_sign_and_its_certainty():
    far = {"bam": (20, 20, 20), "kerple-power": (20, 20, 20), "sandwich": (0, 0, 0)}
    sentence, more, _, value, *_ = findings.older_priors(differences(counts(far)))
    assert value == 0 and "(X-3). BAM less Sandwich: +1.00 [" in more
    assert sentence == (
        "At 64 times the training length the accuracy of BAM differs for certain from that of Sandwich, which trains "
        "nothing, and not from that of KERPLE power, its special case."
    )
    level = findings.older_priors(differences(counts(far | {"sandwich": (20, 20, 20)})))[0]
    assert "differs for certain neither from that of KERPLE power, its special case, nor from that of" in level
    missed = findings.older_priors(differences(counts({"bam": (20, 20), "nope": (0, 0)})))
    assert "did not all pass" in missed[0]


def test_perplexity_that_misleads_is_named():
    names = ("bam", "alibi", "kerple-log", "sandwich", "rope")
    frame = pd.DataFrame({"encoding": names, "multiple": 16.0, "perplexity": [4.0, 4.1, 4.2, 4.3, 40.0],
                          "accuracy": [1.0, 0.1, 0.9, 1.0, 0.0], "decides": [True] * 5})  # fmt: skip
    sentence, more, _, rho, *_ = findings.perplexity_misleads(frame)
    assert sentence == (
        "Perplexity at 16 times the training length does not tell for certain who retrieves, but 1 of the 4 within a "
        "fifth of the best retrieves 0.10."
    )
    assert more.endswith("Level and poor: ALiBi (perplexity 4.10, accuracy 0.10)")
    assert "5 encodings passed the gates" in more and "4.00 to 40.00 (p = " in more
    assert rho == pytest.approx(frame["perplexity"].rank().corr(frame["accuracy"].rank()))
    few = findings.perplexity_misleads(frame[:2])
    assert np.isnan(few[3]) and few[0].startswith("2 encodings passed")
    more = pd.concat([frame.assign(encoding=f"e{k}", perplexity=frame["perplexity"] + k) for k in range(3)])
    falling = more.sort_values("perplexity").assign(accuracy=np.linspace(1, 0, len(more)), encoding=range(len(more)))
    assert "training length tells who retrieves" in findings.perplexity_misleads(named(falling))[0]
    assert (
        "misleads: the higher" in findings.perplexity_misleads(named(falling.assign(accuracy=falling["perplexity"])))[0]
    )


def named(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(encoding=list(ENCODINGS)[: len(frame)])
