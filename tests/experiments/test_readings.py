"""The benchmark of language models: what is trained and read, the arithmetic by hand, and a run on a little text."""

import math

import pandas as pd
import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.experiments import documents as texts
from attention_priors.experiments import languages, readings
from attention_priors.experiments.arms import extended
from attention_priors.model import Transformer


class Packed:
    meta = {"tokens_sha256": "0" * 64}  # noqa: RUF012


@pytest.fixture
def small(small):
    """One encoding or two for each measurement."""
    changes = {
        "encodings": ("t5",),
        "extensions": ("rope-pi-4", "rope-rerope"),
        "lengths": (16, 32),
        "tuned": ("rope-pi-4",),
        "small": ("alibi",),
        "longer": ("alibi",),
        "fading": ("alibi",),
        "fading_lengths": (16, 64),
        "fading_documents": 1,
    }
    language = small.language.model_copy(update={"lengths": (16, 32, 64, 128)})
    return small.model_copy(update={"language": language, "readings": small.readings.model_copy(update=changes)})


# What is trained


def test_a_run_that_goes_on_keeps_tokens_a_step_and_starts_from_its_base(small, tmp_path):
    wanted = readings.wanted(small, (Packed, tmp_path))
    (tuned,) = [spec for spec in wanted if spec.start is not None]
    base = tuned.start
    assert tuned.task == "language-tuned" and tuned.model.encoding == "rope-pi-4" and base.model.encoding == "rope"
    assert base in wanted
    assert tuned.recipe.batch * tuned.recipe.length == base.recipe.batch * base.recipe.length
    assert tuned.recipe == extended(base, small.readings.tuning).recipe
    (twice,) = [spec for spec in wanted if spec.task == "language-longer"]
    assert twice.recipe.length == 32 and twice.recipe.steps == base.recipe.steps
    (less,) = [spec for spec in wanted if spec.task == "language-small"]
    assert less.model.width == small.readings.size.width and less.recipe == base.recipe


def test_what_is_read_of_the_main_comparison_has_its_seeds(small, tmp_path):
    wanted = readings.wanted(small.model_copy(update={"main_seeds": (0, 1)}), (Packed, tmp_path))
    seeds = {}
    for spec, named in wanted.items():
        for part, _ in named:
            seeds.setdefault(part, set()).add(spec.seed)
    assert all(seeds[part] == {0, 1} for part in (readings.BENCHMARK, readings.EXTENSIONS, readings.TUNED))
    assert all(seeds[part] == {0} for part in (readings.SMALL, readings.LONGER, readings.FADING))


def test_more_seeds_are_those_of_the_named_encodings_in_the_named_parts(small, tmp_path):
    more = readings.More(seeds=(5, 6), benchmark=("rope",), fading=("alibi",))
    changed = small.model_copy(update={"readings": small.readings.model_copy(update={"more": more})})
    key = small.readings.settings()
    assert "more" not in key and changed.readings.settings() == key | {"more": more.settings()}
    wanted = readings.wanted(changed, (Packed, tmp_path))
    named = {(part, name) for spec, each in wanted.items() if spec.seed in more.seeds for part, name in each}
    assert named == {(readings.BENCHMARK, "rope"), (readings.FADING, "alibi")}
    assert readings.seeds(changed, readings.BENCHMARK, "rope") == (0, 5, 6)


# What is measured


def test_measure_on_a_little_text(small, tmp_path, cache):
    runs = tmp_path / "runs"
    made = readings.measure(small, runs, cache)
    table = made["language_readings"]
    frame = table.set_index(["part", "encoding", "length"])
    assert set(table["part"]) == set(readings.LOSSES) and set(table["seed"]) == {0}
    lengths = table.groupby(["part", "encoding"])["length"].agg(list).to_dict()
    assert lengths["benchmark", "t5"] == [16, 32, 64, 128] and lengths["extensions", "rope-pi-4"] == [16, 32]
    assert lengths["longer", "alibi"] == [32, 64, 128] and lengths["small", "alibi"] == [16]
    # the documents are the same at every set of lengths, and ReRoPE is RoPE up to half of the training length
    old = languages.losses(small, runs, cache).set_index(["encoding", "length"])["loss"]
    assert frame.loc[("benchmark", "alibi", 64), "loss"] == pytest.approx(old["alibi", 64])
    base = frame.loc[("benchmark", "rope", 16), "loss"]
    assert frame.loc[("extensions", "rope-pi-4", 32), "growth"] == pytest.approx(
        frame.loc[("extensions", "rope-pi-4", 32), "loss"] - base
    )
    assert frame.loc[("tuned", "rope-pi-4", 32), "growth"] == pytest.approx(
        frame.loc[("tuned", "rope-pi-4", 32), "loss"] - base
    )
    assert frame.loc[("longer", "alibi", 32), "growth"] == 0
    assert frame["swap"].notna().all() and frame["pairs"].between(1, 4).all()
    assert sorted(set(made["language_fading"]["length"])) == [16, 64]
    assert len(made["language_fading"]) == 2 * small.language.size.layers * small.language.size.heads


def table():
    rows = [
        ("benchmark", "rope", 0, 8, 8, 2.0),
        ("benchmark", "rope", 0, 16, 8, 2.5),
        ("benchmark", "learned", 0, 8, 8, 2.2),
        ("benchmark", "rope", 1, 8, 8, 2.2),
        ("benchmark", "rope", 1, 16, 8, 2.9),
        ("benchmark", "learned", 1, 8, 8, 2.4),
        ("extensions", "rope-pi", 0, 8, 8, 3.0),
        ("extensions", "rope-pi", 1, 8, 8, 3.4),
        ("tuned", "rope-pi-4", 0, 16, 16, 2.1),
        ("longer", "rope", 0, 16, 16, 1.5),
        ("longer", "rope", 0, 32, 16, 1.9),
    ]
    frame = pd.DataFrame(rows, columns=["part", "encoding", "seed", "length", "trained", "loss"])
    return frame.assign(passed=frame["encoding"] != "learned")


def test_growth_is_above_the_trained_model_of_the_same_seed():
    found = readings.growth(table())["growth"].round(12).tolist()
    assert found == [0, 0.5, 0, 0, 0.7, 0, 1.0, 1.2, 0.1, 0, 0.4]
    with pytest.raises(ValueError, match=r"no loss of 'rope', seed 0, at its training length"):
        readings.growth(table().query("length != 8 or encoding != 'rope'"))


def test_an_extension_passes_with_the_model_whose_weights_it_reads():
    frame = table()
    frame["passed"] = (frame["encoding"] != "rope") | (frame["seed"] == 1)
    found = readings.growth(frame).set_index(["part", "encoding", "seed"])["passed"]
    assert not found["extensions", "rope-pi", 0] and found["extensions", "rope-pi", 1]
    assert not found["tuned", "rope-pi-4", 0] and found["benchmark", "learned", 0].all()


# The sense of order


def test_only_two_neighbours_are_swapped_and_the_asking_token_stays():
    chosen = torch.arange(texts.CONTEXT + 1)[None]
    made = texts.swapped(chosen)[0].tolist()
    first, second = texts.CONTEXT - 3, texts.CONTEXT - 2
    assert [place for place, token in enumerate(made) if token != place] == [first, second]
    assert (made[first], made[second]) == (second, first)


def test_a_bag_has_the_same_tokens_and_the_asking_one_in_its_place():
    chosen = torch.arange(2 * (texts.CONTEXT + 1)).view(2, -1)
    made = texts.bags(chosen)
    assert torch.equal(made.sort(1).values, chosen) and torch.equal(made[:, -2:], chosen[:, -2:])
    first, second = (made - chosen[:, :1]).tolist()
    assert first != second, "each text has an order of its own"
    assert torch.equal(made, texts.bags(chosen)), "alike for all models"


def test_texts_whose_neighbours_are_equal_tell_nothing():
    documents = torch.arange(3 * (texts.CONTEXT + 1)).view(1, -1).clone()
    documents[0, texts.CONTEXT + 1 : 2 * (texts.CONTEXT + 1)] = 7
    found = texts.pieces(documents, 5)
    assert found.shape == (2, texts.CONTEXT + 1) and not (found == 7).all(1).any()
    assert len(texts.pieces(documents, 1)) == 1
    with pytest.raises(ValueError, match="two neighbours that differ"):
        texts.pieces(documents[:, texts.CONTEXT + 1 : 2 * (texts.CONTEXT + 1)], 5)


def test_a_model_without_layers_before_sees_no_order_in_its_keys():
    torch.manual_seed(0)
    sizes = {"width": 8, "layers": 1, "heads": 2, "hidden": 8}
    chosen = torch.randint(11, (6, texts.CONTEXT + 1))
    for name, blind in (("nope", True), ("rope", False), ("alibi", False)):
        model = Transformer(ModelConfig(vocabulary=11, encoding=name, **sizes)).double().eval()
        before, after = (texts.last_losses(model, each, None) for each in (chosen, texts.swapped(chosen)))
        assert bool((after - before).abs().max() < 1e-9) == blind, name


# Fading


def test_uniform_attention_fades_as_one_over_n_and_a_local_one_does_not():
    sizes = {"width": 8, "layers": 2, "heads": 2, "hidden": 8}
    model = Transformer(ModelConfig(vocabulary=11, encoding="nope", **sizes)).eval()
    for block in model.blocks:
        block.attention.query.weight.data.zero_()
    documents = torch.randint(11, (2, 65))
    for length in (16, 64):
        found = pd.DataFrame(texts.thinned(model, documents, length, 1, None))
        assert len(found) == 4 and set(found["length"]) == {length}
        assert found["peak"].to_numpy() == pytest.approx(-math.log(length), abs=1e-5)
        assert found["entropy"].to_numpy() == pytest.approx(math.log(length), abs=1e-5)
        near = pd.DataFrame(texts.thinned(model, documents, length, 1, 8))
        assert near["peak"].to_numpy() == pytest.approx(-math.log(8), abs=1e-5)
