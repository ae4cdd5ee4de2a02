"""The hypothesis of the division of work, in worlds in which it holds and in others."""

import itertools

import pandas as pd

from attention_priors.experiments import division
from attention_priors.figures import FIGURES, TABLES
from attention_priors.figures.division import KINDS, SENTENCES, kind
from attention_priors.positions.encodings import ENCODINGS

FEW = ("rope", "bam", "half-rope-window-bam")
MORE = (*FEW, "rope-bam", "rope-layer-1-bam", "half-rope", "half-rope-bam", "half-rope-window", "half-window-bam")
LENGTHS, ADDRESSES, HEADS = (96, 128, 256, 2048, 8192), (128, 1024), 4


def world(names, lost=(), odd=()):
    """Models that rotate all heads, or are `lost`, copy through these and fail; those in `odd` fail all the same."""
    answers, heads = [], []
    for name, seed in itertools.product(names, (0, 1)):
        common = {"encoding": name, "seed": seed, "steps": 300 + seed, "run": "r", "trained": 128}
        row, fails = ENCODINGS[name], ("rope" in name and "half" not in name) or name in lost
        for length in LENGTHS:
            right = 50 if length <= 128 or not (fails or name in odd) else seed
            answers.append(common | {"task": division.RETRIEVAL, "length": length, "correct": right, "samples": 50})
        for task, share in ((division.NEAR, 1.0 if row.rotary else 0.3), (division.FAR, 0.2)):
            asked = common | {"task": task, "correct": round(80 * share), "samples": 80}
            answers += [asked | {"length": length} for length in ADDRESSES]
        for head in range(HEADS):
            turned = int(row.rotary is not None and ("half" not in name or head < HEADS // 2))
            copied = {"rotated": turned, "far": 2048, "copied": 0.6 if turned == fails else 0.1}
            heads.append(common | copied | {"whole": 20, "without": 20 - 5 * head})
    return division.models(pd.DataFrame(answers), pd.DataFrame(heads))


def test_every_composition_has_its_kind() -> None:
    kinds = {name: kind(name) for name in MORE}
    assert kinds == {
        "rope": "all heads",
        "bam": "no head",
        "half-rope-window-bam": "half, with a window",
        "rope-bam": "all heads",
        "rope-layer-1-bam": "some layers",
        "half-rope": "half of the heads",
        "half-rope-bam": "half of the heads",
        "half-rope-window": "half, with a window",
        "half-window-bam": "a window on half, no rotation",
    }
    assert {kind(name) for name in ENCODINGS} == set(KINDS)


def found(models):
    return TABLES["division_hypothesis"].build(models)["found"].tolist()


def test_the_hypothesis_holds_in_its_own_world_and_not_in_another() -> None:
    assert len(SENTENCES) == 14
    assert found(world(MORE, lost=("half-rope-bam", "half-rope-window")))[:7] == [
        "agrees",
        "agrees",
        "agrees",
        "undecided",
        "agrees",
        "agrees",
        "agrees",
    ], "KERPLE's rows are not there"
    other = world(MORE, odd=("bam", "half-rope-bam", "half-rope-window", "half-rope", "half-rope-window-bam"))
    assert found(other)[:3] == ["agrees", "disagrees", "undecided"]
    caption = FIGURES["division_models"].caption(other)
    assert "10 of the 16 that passed the gate are there" in caption
    told = TABLES["division_hypothesis"].caption
    assert "10 of 16, 0.62 [0.35, 0.85]; by the rule above, one in ten, 'exactly' is wrong." in told(other)
    assert "'exactly' may stand" in told(world(FEW))
    unlearned = world(FEW)
    unlearned["passed"] = False
    assert found(unlearned)[:6] == ["undecided"] * 5 + ["agrees"], "passkeys and addresses have models of their own"
    assert "there is no exception to count" in told(unlearned)


def test_a_model_that_missed_its_gate_is_not_in_the_mean_of_passkeys() -> None:
    rows = world(FEW)
    rows.loc[rows.index[0], ["passed", "at_far", "at_far_correct"]] = [False, 1.0, 50]
    table = TABLES["division"].build(rows).set_index("encoding")
    assert table["at 16×"].iloc[0] == TABLES["division"].build(rows[1:]).set_index("encoding")["at 16×"].iloc[0]
    rows["passed"] = False
    assert TABLES["division"].build(rows)["at 16×"].tolist() == ["–"] * 3


def test_a_control_is_held_against_its_rotation_and_is_no_exception() -> None:
    names = ("half-rope-window-bam", "half-window-bam")
    frame = world(names, odd=("half-window-bam",))
    assert frame["control"].tolist() == [False, False, True, True] and not frame["exception"].any()
    assert found(frame)[7:10] == ["undecided", "agrees", "undecided"]
    even = world(names)
    assert found(even)[8] == "undecided", "where both retrieve, rotation has no part"
    caption = FIGURES["division_models"].caption
    assert "0 of the 2 that passed" in caption(
        frame
    ) and "came after the hypothesis: a window on half, no rotation." in caption(frame)


def test_alternating_layers_are_held_against_what_they_should_do_and_are_no_exception() -> None:
    names = ("alternating", "alternating-bam", "rope")
    frame = world(names, odd=("alternating-bam",))
    assert frame["control"].tolist() == [True] * 4 + [False] * 2 and not frame["exception"].any()
    assert found(frame)[10:] == ["agrees", "agrees", "undecided", "agrees"], "2 of 100 at 16 T"
