"""What a pretrained model says, on frames in which the answer is known."""

from __future__ import annotations

import pandas as pd
import pytest

from attention_priors.checks.pretrained import answers
from attention_priors.checks.pretrained.answers import CHECKS

LABEL, DOCUMENTS = "a model", ("a", "b", "c", "d")
NOISE = dict(zip(DOCUMENTS, (-0.01, 0.0, 0.01, 0.02), strict=True))


def far_seeing(sign: float) -> list[dict]:
    """Of ten heads two fetch: with them alone, or without them, few keys are found, and fewer at random."""
    hits = {
        ("fetching", 0): 0,
        ("fetching", 2): 4,
        ("fetching", 5): 12,
        ("fetching", 10): 15,
        ("others", 8): 1,
        ("random-0", 0): 0,
        ("random-0", 2): 0,
        ("random-0", 5): 0,
        ("random-0", 10): 15,
    }
    if sign < 0:
        hits |= {
            ("fetching", 10): 2,
            ("fetching", 2): 14,
            ("fetching", 5): 0,
            ("others", 8): 15,
            ("random-0", 5): 16,
            ("random-0", 2): 16,
        }
    return [
        {
            "order": order,
            "far": count,
            "heads": 10,
            "length": 200,
            "way": "ntk",
            "window": 20,
            "prompt": prompt,
            "correct": int(prompt < right),
        }
        for (order, count), right in hits.items()
        for prompt in range(16)
    ]


def frames(sign: float = 1.0) -> dict[str, pd.DataFrame]:
    """A world in which every sentence holds (1), or in which its opposite does (-1)."""
    cost = {"as-is": 0.0, "pi": 0.5, "ntk": 0.2, "yarn": 0.1, "sinks": 0.0}
    far = {"as-is": 2.0, "pi": 1.0, "ntk": 0.4, "yarn": 0.3, "sinks": 0.2}
    losses = [
        {"document": name, "way": way, "length": length, "loss": 2 + noise * (1 + k) + sign * more[way]}
        for name, noise in NOISE.items()
        for length, more in ((50, cost), (100, cost), (200, far))
        for k, way in enumerate(more)
    ]
    evicted = {"nothing": 0.0, "first keys": 1.0, "nearest keys": 0.3, "all between": 0.2}
    eviction = [
        {
            "document": name,
            "region": region,
            "layers": layers,
            "loss": 2 + noise * k + (sign * more if layers != "all layers" else -sign),
        }
        for name, noise in NOISE.items()
        for k, (region, more) in enumerate(evicted.items())
        for layers in ("all layers", "first third", "last third")
        if region != "nothing"
    ]
    eviction += [{"document": name, "region": "nothing", "layers": "all layers", "loss": 2} for name in NOISE]
    heads = [
        {
            "document": name,
            "layer": layer,
            "head": 0,
            "sink": 0.8 - 0.4 * layer,
            "value_ratio": 0.5,
            "key_ratio": 1 + sign * 0.5 + noise if layer == 0 else 1.0,
            "by_nothing": 0.5 + sign * 0.3,
            "by_lag": 0.5 - sign * 0.3 + noise,
            "by_ggd": 0.5 - sign * 0.3 + noise + (0.01 if sign > 0 else 0.2),
        }
        for name, noise in NOISE.items()
        for layer in (0, 1)
    ]
    found = (
        {"parallel": 16, "as-is": 8, "lexical": 2, "last": 1}
        if sign > 0
        else {"parallel": 1, "as-is": 12, "lexical": 14, "last": 15}
    )
    keys = [
        {"way": "as-is", "length": 200, "prompt": prompt, "depth": prompt / 16, "correct": int(prompt > 1)}
        for prompt in range(16)
    ]
    keys += [
        {"way": way, "length": 400, "prompt": prompt, "depth": prompt / 16, "correct": int(prompt < hits)}
        for way, hits in found.items()
        for prompt in range(16)
    ]
    made = {
        "pretrained_losses": losses,
        "pretrained_eviction": eviction,
        "pretrained_heads": heads,
        "pretrained_keys": keys,
        "pretrained_far": far_seeing(sign),
    }
    return {name: pd.DataFrame(rows).assign(model=LABEL, trained=100) for name, rows in made.items()}


@pytest.mark.parametrize("name", CHECKS)
def test_every_claim_agrees_and_disagrees_where_it_should(name: str) -> None:
    assert CHECKS[name].verdict("cpu", frames()).outcome == "agrees"
    assert CHECKS[name].verdict("cpu", frames(-1)).outcome == "disagrees"


@pytest.mark.parametrize("name", CHECKS)
def test_the_evidence_names_the_model(name: str) -> None:
    for finding in CHECKS[name].sentences:
        found = finding.estimate(frames())
        assert found.note.startswith(f"{LABEL}, ") and not found.seeds


def test_what_is_not_measured_is_unknown() -> None:
    made = frames()
    made["pretrained_losses"] = made["pretrained_losses"].query("way != 'pi'")
    made["pretrained_heads"]["sink"] = 0.1
    made["pretrained_keys"] = made["pretrained_keys"].query("way != 'parallel'")
    for name in ("X-19", "X-21", "X-24"):
        assert CHECKS[name].verdict("cpu", made).outcome == "undecided"


def test_a_model_that_finds_nothing_in_short_texts_decides_nothing() -> None:
    made = frames()
    keys = made["pretrained_keys"]
    keys.loc[keys["length"] == 200, "correct"] = 0
    for name in ("X-24", "X-25"):
        verdict = CHECKS[name].verdict("cpu", made)
        assert verdict.outcome == "undecided"
        assert "gate missed: as it is it finds 0.00" in CHECKS[name].sentences[0].estimate(made).note


def test_the_words_say_the_numbers_of_the_frames() -> None:
    made = frames()
    assert "At 200 tokens the model as it is loses 4.00 nats; least is lost by *4 sinks" in answers.told(made)
    ntk = made["pretrained_losses"].query("way == 'ntk' and length == 200")["loss"].mean()
    as_is = made["pretrained_losses"].query("way == 'as-is' and length == 200")["loss"].mean()
    assert f"- *NTK-aware base, 2*: {ntk - as_is:+.2f} [" in answers.told(made)
    assert "*position interpolation, 2*: -0.99 [" in answers.told(made)
    assert "0.50 [0.50, 0.50] of the heads" in answers.told_of_heads(made)
    assert "its key is 1.50 [" in answers.told_of_heads(made)
    assert "it finds 14 of 16 at 200 tokens, 8 of 16 at 400 tokens" in answers.told_of_keys(made)
    assert "*first keys* +1.0" in answers.told_of_eviction(made)
    made["pretrained_fetching"] = pd.DataFrame({"weight": [0.7, 0.3, *[0.01] * 8]})
    told = answers.told_of_far(made)
    assert (
        "Of 10 heads the one that fetches most gives the key's digits 0.70" in told
        and "the last of the best 2 0.30" in told
    )
    assert (
        "NTK-aware base, 2, keys are found in 15 of 16 prompts with all heads far and in 0 with none; 4 of 16" in told
    )
    assert "1 of 16 with all but the 2 that fetch best" in told
    made["pretrained_dynamic"] = pd.DataFrame(
        [
            {"document": name, "how": how, "start": 1024, "length": 1280, "loss": 2 + more + noise * k}
            for name, noise in NOISE.items()
            for k, (how, more) in enumerate((("as it is", 0.0), ("one pass", 0.1), ("with a cache", 0.3)))
        ]
    ).assign(model=LABEL)
    assert "decoding with a cache loses +0.2050 [" in answers.told_of_cache(made)
    assert answers.told_of_scaling(made) == ""
    more = made["pretrained_losses"].query("way == 'ntk'")
    made["pretrained_losses"] = pd.concat(
        [
            made["pretrained_losses"],
            *(more.assign(way=way, loss=more["loss"] - 0.25) for way in ("ssmax", "ntk-ssmax", "base-50")),
        ]
    )
    assert "*NTK 2, scalable softmax* against *NTK-aware base, 2*: -0.25 [" in answers.told_of_scaling(made)
    for say in (
        answers.told,
        answers.told_of_heads,
        answers.told_of_keys,
        answers.told_of_eviction,
        answers.told_of_scaling,
        answers.told_of_far,
        answers.told_of_cache,
    ):
        assert say({}) == ""


def test_a_prompt_that_is_asked_with_more_numbers_of_heads_is_one_prompt():
    once = pd.DataFrame(far_seeing(1.0)).query("far in (0, 2, 10)").assign(model=LABEL)
    twice = pd.concat([once, once.query("far == 2").assign(far=3)])
    found, again = (answers.between(frame, "fetching", "random-0") for frame in (once, twice))
    assert found.value == again.value == 4 / 16 and found.interval(0.95) == again.interval(0.95)
    assert found.note == again.note == f"{LABEL}, 16 prompts, one random order"


def test_keys_beyond_the_training_length_are_told_and_decide_nothing():
    judged = CHECKS["X-24"].judged(frames())
    assert [each.finding.decides for each in judged] == [True, True, False, False]
    made = frames()
    keys = made["pretrained_keys"]
    made["pretrained_keys"] = pd.concat([keys, keys.query("length == 400").assign(length=600, correct=0)])
    told = answers.told_of_keys(made)
    assert " At 400 tokens: " in told and " 0 of 16" in told.partition(" At 600 tokens: ")[2]
