"""Findings say what their frames say, whatever that is."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments import confound, findings
from attention_priors.experiments.differences import differences

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


NONE = masses(nope=(0.1, 0.9, 0.0))  # too few to tell


def test_who_reaches_is_named_and_the_last_of_them_has_the_interval():
    found = dict(zip(findings.COLUMNS, findings.who_reaches(counts(
        {"kerple-log": (20, 20), "sandwich": (18, 16), "rope": (0, 2), "rope-local": (20, 20), "alibi-ssmax": (20, 20)}
    ), NONE), strict=True))  # fmt: skip
    assert found["finding"] == (
        "KERPLE log and Sandwich answer 0.85 to 1.00 of the prompts at 64 times the length that they were trained on; "
        "the others (RoPE) 0.05."
    )
    assert found["value"] == pytest.approx(0.85) and found["low"] < 0.85 < found["high"]
    assert found["measured"] == "accuracy of Sandwich, the lowest of those that still answer"
    assert found["figure"] == "passkey_main"


def test_what_they_share_is_told_where_it_goes_with_accuracy():
    names = ("nope", "alibi", "t5", "sandwich", "kerple-log", "kerple-power")
    near, far = (0.1, 0.2, 0.3, 0.45, 0.5, 0.55), (0.99, 0.4, 0.98, 0.5, 0.97, 0.6)
    table = masses(**{name: (near[i], far[i], 0.1 * i) for i, name in enumerate(names)})
    hits = counts({"sandwich": (20, 20), "nope": (0, 0)})
    said = findings.who_reaches(hits, table)[0]
    assert "Over 6 encodings accuracy goes with the mass that the prior of a head has near the query (1.00, p" in said
    assert ", not for certain with the latter alone (" in said
    assert said.endswith("), by rank correlation (p after Holm).")
    flat = table.assign(near=[3, 1, 2, 6, 4, 5], both=[2, 1, 4, 3, 6, 1])
    assert findings.who_reaches(hits, flat)[0].endswith("NoPE) 0.00.") and "masses" not in said


def test_nobody_reaches_or_nobody_has_learned():
    none = findings.who_reaches(counts({"rope": (0, 0), "nope": (2, 4)}), NONE)[0]
    assert none.startswith("No encoding answers 0.8 of the prompts at 64 times")
    missed = findings.who_reaches(counts({"rope": (20, 20)}, near=10), NONE)
    assert missed[0] == "No encoding passed its gate." and np.isnan(missed[2])


@pytest.mark.parametrize(("table", "said"), [(True, "1 answer these and fail"), (False, "0 answer these and fail")])
def test_tables_are_counted(table, said):
    worst = {True: 0.2, False: 0.8}[table]
    frame = pd.DataFrame(
        {"training": way, "encoding": "rope", "seed": seed, "length": length, "trained": 128,
         "accuracy": worst if (way, seed, length) == (confound.FIXED, 0, 112) else 1.0}
        for way in (confound.FIXED, confound.VARIED) for seed in (0, 1) for length in (96, 112, 128)
    )  # fmt: skip
    sentence, _, value, low, high, *_ = findings.tables(frame)
    assert said in sentence and sentence.endswith("Of 2 trained at varied lengths, none does.")
    assert value == 0.5 * table and low <= value <= high


def test_the_difference_from_older_priors_has_its_sign_and_its_certainty():
    far = {"bam": (20, 20, 20), "kerple-power": (20, 20, 20), "sandwich": (0, 0, 0)}
    sentence, _, value, *_ = findings.older_priors(differences(counts(far)))
    assert value == 0 and "(X-3), is +0.00 [" in sentence and "trains nothing, +1.00 [" in sentence
    assert sentence.endswith("the second differs from 0 for certain.")
    missed = findings.older_priors(differences(counts({"bam": (20, 20), "nope": (0, 0)})))
    assert "did not all pass" in missed[0]


def test_perplexity_that_misleads_is_named():
    names = ("bam", "alibi", "kerple-log", "sandwich", "rope")
    frame = pd.DataFrame({"encoding": names, "multiple": 16.0, "perplexity": [4.0, 4.1, 4.2, 4.3, 40.0],
                          "accuracy": [1.0, 0.1, 0.9, 1.0, 0.0], "decides": [True] * 5})  # fmt: skip
    sentence, _, rho, *_ = findings.perplexity_misleads(frame)
    assert "5 encodings passed the gates" in sentence and "4.00 to 40.00" in sentence
    assert "ALiBi, within a fifth of the best (4.10 against 4.00), retrieves 0.10" in sentence
    assert rho == pytest.approx(frame["perplexity"].rank().corr(frame["accuracy"].rank()))
    few = findings.perplexity_misleads(frame[:2])
    assert np.isnan(few[2]) and "2 encodings" in few[0]
