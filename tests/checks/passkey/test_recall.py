"""X-40 to X-42: what decides them, and that every sentence can be decided either way."""

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.passkey import recall

FAR = {
    "half-rope-window": 1.0,
    "half-rope-window-bam": 1.0,
    "bam": 0.9,
    "bam-ssmax": 0.9,
    "kerple-power": 0.9,
    "kerple-log": 0.9,
    "fox-slow": 0.5,
    "alibi": 0.1,
    "nope": 0.0,
    "rope": 0.0,
    "sinusoidal": 0.0,
    "t5": 0.3,
    "sandwich": 0.7,
    "xpos": 0.1,
    "goat": 0.5,
    "bam-laplace": 0.8,
    "half-window": 0.4,
}


def frames(far=FAR, heavy=0.4, missed=(), seeds=range(5)):
    """Accuracy at 4T and 16T; with 64 pairs `heavy` times that; all but the `missed` answer everything within T."""
    rows = []
    for name, share in far.items():
        for seed in seeds:
            for load in (4, 16, 64):
                for length in (64, 128, 512, 2048):
                    asked = 200 - 20 * (seed % 2)
                    within = float(name not in missed)
                    value = within if length <= 128 else share * (heavy if load == 64 else 1)
                    rows.append(
                        {
                            "encoding": name,
                            "seed": seed,
                            "steps": 300,
                            "load": load,
                            "length": length,
                            "correct": round(asked * value),
                            "queries": asked,
                            "samples": 10,
                            "trained": 128,
                        }
                    )
    return {recall.ANSWERS: pd.DataFrame(rows)}


def outcomes(claim, given):
    return [each.outcome for each in CHECKS[claim].judged(given)]


def test_all_can_agree_and_disagree():
    found = {claim: outcomes(claim, frames()) for claim in ("X-40", "X-41", "X-42")}
    assert found == {"X-40": ["agrees"], "X-41": ["agrees"] * 6, "X-42": ["agrees"]}
    assert outcomes("X-41", frames({name: 1 - share for name, share in FAR.items()})) == ["disagrees"] * 6
    assert outcomes("X-40", frames(dict.fromkeys(FAR, 0.9))) == ["disagrees"]
    assert outcomes("X-42", frames(heavy=1.0)) == ["disagrees"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"kerple-log": 0.2}, ["agrees", "disagrees", "agrees", "agrees", "agrees", "agrees"]),
        ({"rope": 0.8}, ["agrees", "agrees", "disagrees", "agrees", "agrees", "agrees"]),
        ({"nope": 0.8}, ["agrees", "agrees", "agrees", "disagrees", "agrees", "agrees"]),
        ({"fox-slow": 0.0}, ["agrees", "agrees", "agrees", "agrees", "disagrees", "agrees"]),
    ],
)
def test_each_sentence_is_about_its_encodings(changes, expected):
    assert outcomes("X-41", frames(FAR | changes)) == expected


def test_who_missed_the_gate_decides_nothing_and_few_have_no_spread():
    judged = CHECKS["X-41"].judged(frames(missed=("fox-slow",)))
    assert [each.outcome for each in judged][4:] == ["undecided"] * 2 and "fox-slow" in judged[4].note
    few = CHECKS["X-40"].judged(frames({name: FAR[name] for name in ("rope", "bam", "alibi")}))[0]
    assert (few.outcome, few.note) == ("undecided", "0.2 is our bound; 3 encodings passed the gate; 6 are needed")
    assert outcomes("X-42", frames(dict.fromkeys(FAR, 0.3))) == ["undecided"], "nobody carries four pairs"
