"""The table of encodings."""

import pickle
from dataclasses import replace
from functools import partial

import pytest
import torch

from attention_priors.positions.encodings import ENCODINGS, Encoding, encoding
from attention_priors.positions.priors import Laplace
from attention_priors.positions.rotary import Rotation
from refusals import refused

PLAIN = ("nope", "sinusoidal", "rope", "rope-local", "alibi", "bam")


def test_names_and_labels_are_unique():
    assert all(row.name == name for name, row in ENCODINGS.items())
    assert len({row.label for row in ENCODINGS.values()}) == len(ENCODINGS)


def test_a_row_says_what_it_is_a_form_of():
    bases = {
        "rope-ssmax-yarn": "rope",
        "rope-randomised-128": "rope",
        "bam-ssmax-content": "bam",
        "alibi-ssmax-prior": "alibi",
        "group-damped-ssmax": "group-damped",
    }
    assert {name: encoding(name).base for name in bases} == bases
    for name, row in ENCODINGS.items():
        base = encoding(row.base)
        assert base.base == base.name and name.startswith(base.name) and not base.ssmax and base.family == row.family
        assert row.ssmax == ("ssmax" in name), "the name is for people; it should not mislead them"
        assert row.trained_as is None or encoding(row.trained_as).base == row.base


def test_the_form_without_scalable_softmax_is_the_same_otherwise():
    pairs = {name: row.unscaled for name, row in ENCODINGS.items() if row.unscaled}
    assert len(set(pairs.values())) == len(pairs) and set(PLAIN) <= set(pairs.values())
    assert "bam-ssmax-content" not in pairs and pairs["rope-ssmax-yarn"] == "rope-yarn"
    for name, plain in pairs.items():
        row, without = ENCODINGS[name], ENCODINGS[plain]
        assert row.ssmax and not without.ssmax
        same = ("base", "absolute", "rotary", "prior", "local", "shared", "biased", "whole", "longest")
        assert all(getattr(row, part) == getattr(without, part) for part in same)


def test_settings_are_what_parts_are_made_with():
    assert ENCODINGS["rope-pi-4"].settings["rotary"] == {"factor": 4.0}
    again = replace(ENCODINGS["rope"], label="Rotary", form_of="other")
    assert again.settings == ENCODINGS["rope"].settings != replace(again, version=2).settings


def test_rotations_say_whether_they_go_by_blocks():
    rotations = {name: row.rotary(24, 10_000.0) for name, row in ENCODINGS.items() if row.rotary}
    assert all(isinstance(rotation, Rotation) for rotation in rotations.values())
    blockwise = {encoding(name).unscaled or name for name, rotation in rotations.items() if rotation.blockwise}
    assert blockwise == {"xpos", "group-damped", "group-defective"}


def test_who_scales_the_prior():
    scaling = {name for name, row in ENCODINGS.items() if row.scales_prior}
    ours = {name for name, row in ENCODINGS.items() if row.base == "bam" and row.ssmax}
    asked = {name for name in ENCODINGS if name.endswith("-ssmax-prior")}
    assert scaling == (ours - {"bam-ssmax-content"}) | asked and "alibi-ssmax-prior" in asked
    assert "alibi-ssmax" in ENCODINGS and "bam-ssmax" in scaling


def test_factories_make_new_parts_each_time():
    heads, width = 4, 24
    for row in ENCODINGS.values():
        parts = (row.absolute, 2 * width), (row.rotary, width, 10_000.0), (row.prior, heads), (row.scale, heads)
        for part, *sizes in parts:
            if part is not None:
                first, second = part(*sizes), part(*sizes)
                assert first is not second
                assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}


def test_rows_travel_to_worker_processes():
    for row in ENCODINGS.values():
        copied = pickle.loads(pickle.dumps(row))
        assert copied.name == row.name and copied.scale is row.scale


@pytest.mark.parametrize("name", ENCODINGS)
def test_rows_can_be_made_without_memory(name):
    """On the meta device, as large models are opened: the shapes are those of the row."""
    row, heads, width = ENCODINGS[name], 4, 24
    parts = (row.absolute, 2 * width), (row.rotary, width, 10_000.0), (row.prior, heads), (row.pairs, heads, width)
    for part, *sizes in parts:
        if part is not None:
            with torch.device("meta"):
                made = part(*sizes).state_dict()
            assert {key: x.shape for key, x in made.items()} == {
                key: x.shape for key, x in part(*sizes).state_dict().items()
            }
            assert all(x.is_meta for x in made.values())


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("bam_ssmax", "bam-ssmax"),
        ("BAM", "bam"),
        ("RoPE", "rope"),
        ("YaRN", "rope-yarn"),
        ("T5 buckets to lag 32", "t5-quarter"),
        (None, "nope"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest_one(name, near, unchecked):
    with pytest.raises(ValueError) as caught:
        encoding(name)
    count = len(ENCODINGS)
    assert str(caught.value) == f"unknown encoding {name!r} (nearest: {near}); list(ENCODINGS) has all {count}"


def added(name: str, row: Encoding) -> None:
    ENCODINGS[name] = row


test_rows_that_would_not_work_are_refused = refused(
    (lambda: encoding("qqq"), f"unknown encoding 'qqq'; list(ENCODINGS) has all {len(ENCODINGS)}"),
    (lambda: added("a", Encoding("b", "B", prior=Laplace)), "ENCODINGS['a'] calls itself 'b'; give it one name"),
    (lambda unchecked: Encoding("a", "A", prior=Laplace([1.0])), "module Laplace as its prior; give the class"),
    *((partial(lambda made: made(0), row.prior), "head") for row in ENCODINGS.values() if row.prior),
)
