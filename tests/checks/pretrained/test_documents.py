"""What a pretrained model says beside the verdicts of others, on frames in which the answer is known."""

from __future__ import annotations

import pandas as pd
import pytest

from attention_priors import checks, claims
from attention_priors.checks import ALSO
from attention_priors.checks.pretrained.documents import CHECKS, shape
from attention_priors.claims.verdict import NOT_ASKED

LABEL, NOISE = "a model", {"a": -0.01, "b": 0.0, "c": 0.01, "d": 0.02}
EXIST = ("PC-F3", "PC-F6")  # what one head shows and none refutes
THIRDS = ("first third", "middle third", "last third")
LEVEL = {"ntk-4": 0.3, "ntk": 0.05, "pi": 0.5}  # what a way costs within the trained length
FAR = {
    "as-is": 4.0,
    "ssmax": 3.95,
    "pi": 3.0,
    "ntk": 1.0,
    "sinks": 0.9,
    "dynamic-ntk": 0.8,
    "rerope": 0.7,
    "yarn": 0.6,
    "ntk-ssmax": 0.5,
}
HEADS = {  # sink, near, far, by_nothing, beta, alpha
    "U": (0.6, 0.3, 0.0, 0.8, 0.5, 1.0), "mountain": (0.0, 0.01, 0.09, 0.6, -1.0, 5.0),
    "uniform": (0.001, 0.02, 0.8, 0.1, 0.0, 0.0), "local": (0.1, 0.8, 0.0, 0.9, 1.5, 1.0),
}  # fmt: skip


def frames(holds: bool = True) -> dict[str, pd.DataFrame]:
    """A world in which every sentence holds, or in which its opposite does."""
    sign = 1 if holds else -1
    losses = []
    for name, noise in NOISE.items():
        for k, way in enumerate((*FAR, "ntk-4")):
            near, far = sign * LEVEL.get(way, 0.0), sign * FAR.get(way, 1.0)
            far += way == "ssmax" and not holds  # which is to be on a par with the model as it is
            losses += [
                {"document": name, "way": way, "length": length, "loss": 9 + noise * k / 10 + value}
                for length, value in ((100, near), (200, far))
            ]
    cost = {"nothing": 0.0, "first keys": 0.1, "nearest keys": 2.0, "all between": 0.05}
    eviction = [
        {
            "document": name,
            "region": region,
            "layers": layers,
            "loss": 9 + noise * k + sign * (more - 0.5 * THIRDS.index(layers) if region == "nearest keys" else more),
        }
        for name, noise in NOISE.items()
        for k, (region, more) in enumerate(cost.items())
        for layers in THIRDS
    ]
    kinds = list(HEADS.values()) if holds else [(0.2, 0.3, 0.1, 0.5, 3.0, 1e-9)] * 4
    heads = [
        {
            "document": name,
            "layer": k // 2,
            "head": k % 2,
            "key_ratio": 1.5 if holds else 0.5,
            **dict(zip(("sink", "near", "far", "by_nothing", "beta", "alpha"), kind, strict=True)),
        }
        for name in NOISE
        for k, kind in enumerate(kinds)
    ]
    if not holds:  # no peak at either end, and no shape that has a name
        for row in heads:
            row |= {"sink": 0.01, "near": 0.016, "far": 0.2} if row["layer"] else {"sink": 0.6, "near": 0, "far": 0.3}
    hits = {"parallel": 40, "last": 2, "lexical": 3, "ntk": 20, "yarn": 20, "sinks": 1, "as-is": 5}
    keys = [
        {"way": way, "length": 400, "correct": int(prompt < (right if holds else 40 - right))}
        for way, right in hits.items()
        for prompt in range(40)
    ]
    keys += [{"way": "as-is", "length": 50, "correct": 1} for _ in range(40)]
    made = {
        "pretrained_losses": losses,
        "pretrained_eviction": eviction,
        "pretrained_heads": heads,
        "pretrained_keys": keys,
    }
    return {name: pd.DataFrame(rows).assign(model=LABEL, trained=100) for name, rows in made.items()}


@pytest.mark.parametrize("name", CHECKS)
def test_every_claim_agrees_and_disagrees_where_it_should(name: str) -> None:
    said = CHECKS[name].verdict("cpu", frames())
    assert said.outcome == "agrees", CHECKS[name].frame(frames()).to_string()
    made = frames(holds=False)
    if name in EXIST:
        made["pretrained_heads"] = made["pretrained_heads"].assign(sink=0.01)
    refuted = "undecided" if name in EXIST else "disagrees"
    assert CHECKS[name].verdict("cpu", made).outcome == refuted, CHECKS[name].frame(made).to_string()
    assert (NOT_ASKED + CHECKS[name].missing in said.opposite) == bool(CHECKS[name].missing)
    assert all(each.note and LABEL in each.note for each in said.sentences)


@pytest.mark.parametrize("name", CHECKS)
def test_what_a_profile_does_not_ask_is_undecided(name: str) -> None:
    made = {metric: frame.iloc[:0] if metric == "pretrained_keys" else frame for metric, frame in frames().items()}
    made["pretrained_losses"] = made["pretrained_losses"].query("way == 'yarn'")
    reads = set(CHECKS[name].metrics)
    if reads == {"pretrained_losses"}:
        assert CHECKS[name].verdict("cpu", made).outcome == "undecided"


def test_shapes_of_heads() -> None:
    own = frames()["pretrained_heads"].query("document == 'a'")
    assert shape(own).tolist() == ["U", "mountain", "uniform", "U"]


def test_a_second_witness_owns_none_of_the_claims_that_it_speaks_about() -> None:
    known = claims.register()
    assert set(ALSO) == set(CHECKS) and {known[name].notebook for name in ALSO}.isdisjoint({checks.WITNESS})
    assert list(checks.witnessed(checks.WITNESS)) == [name for name in known if name in ALSO]
    assert not checks.witnessed("passkeys")
