"""The table of encodings."""

import pickle

import pytest
import torch

from attention_priors.positions.encodings import ENCODINGS, encoding
from attention_priors.positions.priors import GeneralizedGaussian, Laplace
from attention_priors.positions.scaling import Constant, ScalableSoftmax

PLAIN = ("nope", "sinusoidal", "rope", "rope-local", "alibi", "bam")


def test_the_field_and_each_with_scalable_softmax() -> None:
    for name in PLAIN:
        row, scaled = ENCODINGS[name], ENCODINGS[f"{name}-ssmax"]
        assert row.scale is Constant and scaled.scale is ScalableSoftmax
        for part in ("absolute", "rotary", "prior", "local", "shared"):
            assert getattr(row, part) == getattr(scaled, part)


def test_names_and_labels_are_unique() -> None:
    assert all(row.name == name for name, row in ENCODINGS.items())
    assert len({row.label for row in ENCODINGS.values()}) == len(ENCODINGS)


def test_who_scales_the_prior() -> None:
    scaling = {name for name, row in ENCODINGS.items() if row.scales_prior}
    ours = {name for name in ENCODINGS if name.startswith("bam-") and name.endswith("-ssmax")}
    assert scaling == {*ours, "alibi-ssmax-prior"}
    assert not encoding("bam-ssmax-content").scales_prior and not encoding("alibi-ssmax").scales_prior


def test_local_rows_borrow_weights() -> None:
    for name, trained in (("rope-local", "rope"), ("rope-local-ssmax", "rope-ssmax")):
        row = encoding(name)
        assert row.local and row.trained_as == trained and ENCODINGS[trained].trained_as is None


def test_factories_make_new_parts_each_time() -> None:
    heads, width = 4, 8
    for row in ENCODINGS.values():
        for part, size in ((row.absolute, 2 * width), (row.rotary, width), (row.prior, heads), (row.scale, heads)):
            if part is not None:
                first, second = part(size), part(size)
                assert first is not second
                assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}


def test_starts_of_training() -> None:
    assert torch.equal(encoding("bam").prior(4).theta_beta, torch.zeros(4))
    assert torch.equal(encoding("bam-laplace-ssmax").prior(4).theta_beta, torch.ones(4))
    assert encoding("bam-location-ssmax").prior(4).theta_mu.requires_grad
    assert not encoding("bam-ssmax").prior(4).theta_mu.requires_grad
    assert isinstance(encoding("alibi").prior(4), Laplace) and isinstance(encoding("bam").prior(4), GeneralizedGaussian)


def test_rows_travel_to_worker_processes() -> None:
    for row in ENCODINGS.values():
        copied = pickle.loads(pickle.dumps(row))
        assert copied.name == row.name and copied.scale is row.scale


def test_refuses_an_unknown_name_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"unknown encoding 'bam_ssmax'; nearest is 'bam-ssmax'; all: nope, "):
        encoding("bam_ssmax")
