"""Profiles: all parse, none takes a key or a value that it does not know."""

from pathlib import Path

import pytest
import yaml

from attention_priors import config
from attention_priors.positions.encodings import ENCODINGS

NAMES = ("smoke", "cpu", "full", "gpu", "paper")


def values(name: str = "smoke") -> dict:
    return yaml.safe_load((config.PROFILES / f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_parses(name: str) -> None:
    profile = config.profile(name)
    assert profile.name == name
    assert set(profile.seeds) <= set(profile.bam_seeds), "BAM has the baselines' seeds and perhaps more"
    for seeds in (profile.seeds, profile.bam_seeds):
        assert len(set(seeds)) == len(seeds)
    sections = (profile.passkey, profile.language)
    named = [name for section in sections for name in section.encodings]
    named += [*profile.passkey.far_encodings, *profile.passkey.hard_encodings]
    assert set(named) <= set(ENCODINGS)
    assert set(profile.passkey.far_encodings) <= set(profile.passkey.encodings)


def test_there_are_no_other_profiles() -> None:
    assert {path.stem for path in config.PROFILES.glob("*.yaml")} == set(NAMES)


@pytest.mark.parametrize("name", ["cpu", "full", "gpu", "paper"])
def test_the_baselines_get_bams_tuning(name: str) -> None:
    """One recipe for all encodings of an experiment; every plain encoding has its scaled row beside it."""
    profile = config.profile(name)
    plain = {"nope", "sinusoidal", "rope", "rope-local", "alibi", "bam"}
    fewer = {"sinusoidal", "rope-local"} if name == "cpu" else set()  # ten language models there
    for section, scaled in ((profile.passkey, plain), (profile.language, plain - fewer)):
        assert plain | {f"{n}-ssmax" for n in scaled} <= set(section.encodings)
    assert profile.seeds_for("bam-ssmax") == profile.bam_seeds and profile.seeds_for("alibi") == profile.seeds


def test_profiles_are_values() -> None:
    profile = config.profile("cpu")
    again = config.profile("cpu")
    assert profile == again and hash(profile.passkey.recipe) == hash(again.passkey.recipe)
    with pytest.raises(ValueError, match="frozen"):
        profile.threads = 3


@pytest.mark.parametrize("name", ["cpuu", "CPU", "", "../profiles/cpu", "cpu.yaml"])
def test_an_unknown_profile_is_named_with_the_nearest(name: str) -> None:
    pattern = r"unknown profile .*; nearest is '.*'; all: cpu, full, gpu, paper, smoke"
    with pytest.raises(ValueError, match=pattern) as caught:
        config.profile(name)
    assert repr(name) in str(caught.value)


def written(folder: Path, data: object, name: str = "mine") -> config.Profile:
    text = data if isinstance(data, str) else yaml.safe_dump(data)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return config.profile(name, folder)


def test_unknown_keys_name_file_key_and_the_nearest_valid_key(tmp_path: Path) -> None:
    for where, wrong, nearest in (
        ((), "thread", "threads"),
        (("passkey",), "encoding", "encodings"),
        (("passkey", "recipe"), "learning_rate", "prior_rate"),
        (("passkey", "far"), "lenghts", "lengths"),
        (("language", "size"), "hiden", "hidden"),
    ):
        data = values()
        owner = data
        for part in where:
            owner = owner[part]
        owner[wrong] = 1
        dotted = ".".join((*where, wrong))
        with pytest.raises(ValueError, match=rf"^mine\.yaml: unknown key '{dotted}'; .* is '{nearest}'$"):
            written(tmp_path, data)


def test_bad_values_name_file_key_and_value(tmp_path: Path) -> None:
    for path, value, message in (
        (("threads",), 0, r"mine\.yaml: threads: .*greater than or equal to 1 \(got 0\)"),
        (("seeds",), [], r"mine\.yaml: seeds: .*at least 1 item"),
        (("passkey", "recipe", "rate"), -1, r"mine\.yaml: passkey\.recipe\.rate: .*\(got -1\)"),
        (("passkey", "recipe", "optimizer"), "sgd", r"passkey\.recipe\.optimizer: .*'radam', .*\(got 'sgd'\)"),
        (("passkey", "size", "width"), 33, r"mine\.yaml: passkey\.size: .*width = 33 is not a multiple of heads = 2"),
        (("language", "documents"), "many", r"mine\.yaml: language\.documents: .*\(got 'many'\)"),
        (("passkey", "recipe", "steps"), 2.5, r"passkey\.recipe\.steps: .*\(got 2\.5\)"),
    ):
        data = values()
        owner = data
        for part in path[:-1]:
            owner = owner[part]
        owner[path[-1]] = value
        with pytest.raises(ValueError, match=message) as caught:
            written(tmp_path, data)
        assert "\n" not in str(caught.value)


def test_missing_keys_and_files_that_are_no_profile(tmp_path: Path) -> None:
    data = values()
    del data["passkey"]["recipe"]["clip"]
    with pytest.raises(ValueError, match=r"mine\.yaml: passkey\.recipe\.clip: Field required"):
        written(tmp_path, data)
    for text, message in (("", r"mine\.yaml: file: "), ("- 1\n", r"mine\.yaml: file: "), ("a: [1", "not valid YAML")):
        with pytest.raises(ValueError, match=message) as caught:
            written(tmp_path, text)
        assert "\n" not in str(caught.value)


def test_a_model_that_cannot_be_built_is_refused() -> None:
    good = {"vocabulary": 8, "width": 12, "layers": 1, "heads": 4, "hidden": 8, "encoding": "bam"}
    assert config.parse(config.ModelConfig, good, "model").kv_heads is None
    for change, message in (
        ({"width": 10}, "width = 10 is not a multiple of heads = 4"),
        ({"kv_heads": 3}, "heads = 4 is not a multiple of kv_heads = 3"),
        ({"kv_heads": 0}, "kv_heads"),
        ({"layers": 0}, "layers"),
        ({"depth": 2}, "unknown key 'depth'"),
    ):
        with pytest.raises(ValueError, match=message):
            config.parse(config.ModelConfig, good | change, "model")
