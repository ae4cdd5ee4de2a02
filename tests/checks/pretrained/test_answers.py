"""What a pretrained model says, of the committed frames: gates, what was not asked, and words that say the numbers."""

import pandas as pd
import pytest

from attention_priors import checks, claims
from attention_priors.checks import ALSO
from attention_priors.checks.pretrained import answers
from attention_priors.checks.pretrained.documents import shape
from attention_priors.claims.verdict import NOT_ASKED
from attention_priors.evaluation import binomial_interval, seed_interval
from checks.committed import frame, frames, notes, outcomes

METRICS = ("losses", "heads", "keys", "eviction", "far", "fetching", "dynamic")
FRAMES = {f"pretrained_{name}": frame(f"pretrained_{name}", "cpu") for name in METRICS}
LABEL = FRAMES["pretrained_keys"]["model"].iloc[0]


@pytest.mark.parametrize("table", [answers.CHECKS, ALSO])
def test_the_evidence_names_the_model_and_what_was_not_asked(table) -> None:
    for name, check in table.items():
        said = check.verdict("cpu", frames(name, table=table))
        assert not said.seeds and all(LABEL in each.note for each in said.sentences), name
        assert (NOT_ASKED + check.missing in said.opposite) == bool(check.missing)


def test_what_is_not_measured_is_unknown() -> None:
    losses, keys = FRAMES["pretrained_losses"], FRAMES["pretrained_keys"]
    heads = FRAMES["pretrained_heads"].assign(sink=0.1)
    for name, lacking in (
        ("X-19", {"pretrained_losses": losses[losses["way"] != "pi"]}),
        ("X-21", {"pretrained_heads": heads}),
        ("X-24", {"pretrained_keys": keys[keys["way"] != "parallel"]}),
    ):
        assert "undecided" in outcomes(name, frames(name, **lacking))


def test_a_model_that_finds_nothing_in_short_texts_decides_nothing() -> None:
    keys = FRAMES["pretrained_keys"]
    short = keys["length"] == keys["length"].min()
    none = {"pretrained_keys": keys.assign(correct=keys["correct"].mask(short, 0))}
    for name in ("X-24", "X-25"):
        assert "gate missed: as it is it finds 0.00" in notes(name, none)[0]


def test_a_difference_of_keys_is_of_the_same_prompts() -> None:
    """By hand: of 8 prompts one side has 5 more, by exact intervals at 0.975 of how many differ and for whom.

    5 of 5 is not enough to exclude 0, 8 of 8 is (McNemar's p is 0.06 and 0.008).
    """
    prompts = pd.MultiIndex.from_product([[8000], range(8)], names=["length", "prompt"])
    none, five, all_ = (pd.Series([1] * n + [0] * (8 - n), index=prompts) for n in (0, 5, 8))
    low, high = answers.paired(five, none).interval(0.95)
    assert answers.paired(five, none).value == 5 / 8
    assert low == pytest.approx((2 * 0.0125 ** (1 / 5) - 1) * binomial_interval(5, 8, 0.975)[1]) and low < 0
    assert high == pytest.approx(binomial_interval(5, 8, 0.975)[1])
    assert answers.paired(all_, none).interval(0.95)[0] > 0 > answers.paired(none, all_).interval(0.95)[1]
    assert answers.paired(five, five).interval(0.95) == pytest.approx((-(1 - 0.0125 ** (1 / 8)), 1 - 0.0125 ** (1 / 8)))
    with pytest.raises(ValueError, match="asked different prompts"):
        answers.paired(five, none.iloc[1:])


def test_keys_beyond_the_training_length_decide_and_those_within_it_stand_beside() -> None:
    judged = answers.CHECKS["X-24"].judged(FRAMES)
    assert [each.finding.decides for each in judged] == [True, True, False, False]
    assert ["Beyond T" in each.finding.text for each in judged] == [True, True, False, False]
    keys = FRAMES["pretrained_keys"]
    longer = keys[keys["way"] == "last"].assign(length=10**6, correct=0)
    told = answers.told_of_keys({"pretrained_keys": pd.concat([keys, longer])})
    assert " 0 of " in told.partition(" At 1,000,000 tokens: ")[2]


def test_a_prompt_that_is_asked_with_more_numbers_of_heads_is_one_prompt() -> None:
    once = FRAMES["pretrained_far"]
    few = once.loc[(once["order"] == "fetching") & (once["far"] > 0), "far"].min()
    once = once[once["far"].isin([0, few, once["heads"].iloc[0]])]
    twice = pd.concat([once, once[once["far"] == few].assign(far=few + 1)])
    found, again = (answers.between(each, "fetching", "random-0") for each in (once, twice))
    assert found.value == again.value and found.interval(0.95) == again.interval(0.95) and found.note == again.note


def test_the_words_say_the_numbers_of_the_frames() -> None:
    losses, keys, heads = (FRAMES[f"pretrained_{name}"] for name in ("losses", "keys", "heads"))
    at = losses[losses["length"] == losses["length"].max()].groupby("way")["loss"].mean()
    told = answers.told(FRAMES)
    assert f"loses {at['as-is']:.2f} nats" in told and f"*, {at.min():.2f}" in told
    far = losses[losses["length"] == losses["length"].max()].pivot(index="document", columns="way", values="loss")
    close = [way for way in at.index if way != at.idxmin() and seed_interval(far[way] - far[at.idxmin()])[0] <= 0]
    assert told.count("not certainly more by") == 1 and close
    assert all(f"*{answers.label(way)}* {at[way]:.2f}" in told for way in close)
    assert f": {at['ntk'] - at['as-is']:+.2f} [" in told
    sinks = heads.assign(sinks=heads["sink"] > 0.5).groupby("document")["sinks"].mean().mean()
    assert f"{sinks:.2f} [" in answers.told_of_heads(FRAMES)
    for (way, length), own in keys.groupby(["way", "length"]):
        said = answers.told_of_keys(FRAMES)
        assert way != "as-is" or f"{own['correct'].sum()} of {len(own)} at {length:,} tokens" in said
    without = FRAMES["pretrained_eviction"].query("layers != 'all layers' or region == 'nothing'")
    cost = without.groupby(["region", "document"])["loss"].mean().unstack("region")
    assert f"*first keys* {(cost['first keys'] - cost['nothing']).mean():+.2f} [" in answers.told_of_eviction(FRAMES)
    weights = FRAMES["pretrained_fetching"]["weight"]
    assert f"digits {weights.max():.2f}" in answers.told_of_far(FRAMES)
    cached = FRAMES["pretrained_dynamic"].pivot(index="document", columns="how", values="loss")
    more = (cached["with a cache"] - cached["one pass"]).mean()
    assert f"decoding with a cache loses {more:+.4f} [" in answers.told_of_cache(FRAMES)


def test_scaling_is_told_where_it_was_asked_and_nothing_where_nothing_was() -> None:
    losses = FRAMES["pretrained_losses"]
    ntk = losses[losses["way"] == "ntk"]
    more = [ntk.assign(way=way, loss=ntk["loss"] - 0.25) for way in ("ssmax", "ntk-ssmax", "base-50")]
    assert answers.told_of_scaling(FRAMES) == ""
    said = answers.told_of_scaling({"pretrained_losses": pd.concat([losses, *more])})
    assert "*NTK 2, scalable softmax* against *NTK-aware base, 2*: -0.25 [" in said
    for part in ("", "_of_heads", "_of_keys", "_of_eviction", "_of_far", "_of_cache"):
        assert getattr(answers, f"told{part}")({}) == ""


def test_shapes_of_heads() -> None:
    columns = ["sink", "near", "far", "by_nothing"]
    kinds = [(0.6, 0.3, 0.0, 0.8), (0.0, 0.01, 0.09, 0.6), (0.001, 0.02, 0.8, 0.1), (0.1, 0.8, 0.0, 0.9)]
    assert shape(pd.DataFrame(kinds, columns=columns)).tolist() == ["U", "mountain", "uniform", "U"]


def test_a_second_witness_owns_none_of_the_claims_that_it_speaks_about() -> None:
    known = claims.register()
    assert {known[name].notebook for name in ALSO}.isdisjoint({checks.WITNESS})
    assert list(checks.witnessed(checks.WITNESS)) == [name for name in known if name in ALSO]
    assert not checks.witnessed("passkeys")


def test_prompts_are_paired_by_their_number_not_by_their_order():
    prompts = pd.MultiIndex.from_product([[8000], range(8)], names=["length", "prompt"])
    five = pd.Series([1] * 5 + [0] * 3, index=prompts)
    assert answers.paired(five, five.iloc[::-1]).interval(0.95) == answers.paired(five, five).interval(0.95)


def test_a_share_of_prompts_has_the_level_that_is_asked():
    assert answers.found(5, 8).interval(0.99) == binomial_interval(5, 8, 0.99)


def test_lengths_within_the_trained_one_and_the_longest():
    frame = pd.DataFrame({"length": [64, 128, 256], "trained": 128})
    assert answers.lengths(frame, False) == [64, 128] and answers.lengths(frame, True) == [256]


def test_readers_are_compared_at_their_shortest_or_at_their_longest_length():
    keys = frame("pretrained_keys", "cpu")
    near = keys[keys["way"].isin(["last", "parallel"])]
    far = near.assign(length=10**6, correct=(near["way"] == "parallel").astype(int))
    short, long = (answers.finds(pd.concat([keys, far]), "parallel", "last", longest=each) for each in (False, True))
    assert long.value == 1 and short.value == answers.finds(keys, "parallel", "last").value < 1


def test_the_gate_of_keys_is_the_share_of_all_prompts_of_the_shortest_length():
    keys = frame("pretrained_keys", "cpu")
    short = (keys["way"] == "as-is") & (keys["length"] == keys["length"].min())
    first = short & (keys["prompt"] == keys["prompt"].min())
    one = keys.assign(correct=keys["correct"].mask(short, 0).mask(first, 1))
    assert "gate missed: as it is it finds 0.12" in answers.finds(one, "parallel", "last").note


def test_numbers_of_heads_by_hand():
    shared = pd.DataFrame({"layer": [0, 0, 0, 1, 1, 1], "key_ratio": [1.0, 1.0, 1.0, 3.0, 5.0, 9.0]})
    assert answers.sink_ratio(shared.assign(sink=[0.9, 0.9, 0.9, 0.9, 0.9, 0.1])) == 3.0
    assert answers.nearer("a", "b")(pd.DataFrame({"a": [0.8, 0.6], "b": [0.3, 0.3]})) == pytest.approx(0.4)


def test_how_many_heads_see_far_by_hand():
    """Of 100 heads the best 10 find 1 of 4 keys, the best 30 find 2, the other 90 all, all heads 3."""
    found = {
        ("fetching", 0): 0,
        ("fetching", 10): 1,
        ("fetching", 30): 2,
        ("fetching", 100): 3,
        ("others", 90): 4,
        ("others", 10): 0,
    }
    rows = [(order, far, prompt, int(prompt < hits)) for (order, far), hits in found.items() for prompt in range(4)]
    frame = pd.DataFrame(rows, columns=["order", "far", "prompt", "correct"]).assign(length=9, heads=100, model="m")
    assert answers.fewest(frame) == 10
    for less, gap in ((("fetching", answers.FEW), 0.5), (("others", answers.REST), -0.25)):
        assert answers.leads(frame, ("fetching", answers.ALL), less).value == gap
