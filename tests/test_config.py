"""Profiles: all parse, none takes a key or a value that it does not know."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from attention_priors import config
from attention_priors.experiments import EXPERIMENTS, unread
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.store.notebooks import NOTEBOOKS

NAMES = ("smoke", "cpu", "full", "gpu", "paper")


def values(name: str = "smoke") -> dict:
    return config.read_yaml((config.PROFILES / f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_parses(name: str) -> None:
    profile = config.profile(name)
    assert profile.name == name
    assert set(profile.seeds) <= set(profile.main_seeds), "the main comparison has all seeds and perhaps more"
    sections = (profile.passkey, profile.language)
    assert all(set(section.encodings) <= set(ENCODINGS) for section in sections)
    assert set(profile.passkey.farthest_encodings) <= {*profile.passkey.encodings, *profile.benchmark.encodings}
    assert list(profile.minutes) == [name for name, row in NOTEBOOKS.items() if not row.appendix]


def test_a_profile_that_rests_on_another_has_its_own_sections_and_the_rest_of_the_other(tmp_path: Path) -> None:
    for name in ("smoke", "cpu"):
        (tmp_path / f"{name}.yaml").write_text((config.PROFILES / f"{name}.yaml").read_text(encoding="utf-8"))
    smoke, theirs = config.profile("smoke"), values("cpu")["confound"]
    made = written(tmp_path, {"base": "smoke", "name": "mine", "threads": 3, "confound": theirs})
    assert made.threads == 3 and made.confound == config.profile("cpu").confound != smoke.confound
    assert made.passkey == smoke.passkey and made.seeds == smoke.seeds
    with pytest.raises(ValueError, match="unknown profile 'smokey'; nearest is 'smoke'"):
        written(tmp_path, {"base": "smokey", "name": "mine"})
    (tmp_path / "other.yaml").write_text("base: mine\nname: other\n")
    with pytest.raises(ValueError, match=r"^other\.yaml: base: that profile rests on another one; name 'smokey'"):
        config.profile("other", tmp_path)


def test_c4_has_the_recipe_of_appendix_g() -> None:
    found, papers = config.profile("c4"), config.profile("paper")
    text, recipe = found.language, found.language.recipe
    assert (text.size.layers, text.size.heads, text.size.width, recipe.length) == (12, 12, 768, 2048)
    assert recipe.steps * recipe.batch * recipe.length == pytest.approx(4.0e9, rel=1e-5)
    assert (recipe.rate, recipe.rate * recipe.final_rate) == (1e-4, pytest.approx(3e-5))
    assert max(text.lengths) == 16 * recipe.length and found.passkey == papers.passkey
    assert {"goat_languages", "sinks", "corpus"}.isdisjoint(found.without)


@pytest.mark.parametrize("name", ["cpu", "full", "gpu", "paper"])
def test_rivals_have_the_same_recipe_seeds_and_prompts(name: str) -> None:
    profile = config.profile(name)
    assert len(profile.main) == 10 and set(profile.main) <= set(profile.passkey.encodings)
    assert set(profile.main) <= set(profile.benchmark.encodings)
    assert {profile.seeds_for(each) for each in (*profile.main, "rope-local")} == {profile.main_seeds}
    assert profile.seeds_for("alibi-ssmax") == profile.seeds
    plain = {"nope", "sinusoidal", "rope", "rope-local", "alibi", "bam"}
    if name != "cpu":  # what SSMax does to each is left to larger profiles there
        assert plain | {f"{each}-ssmax" for each in plain} <= set(profile.passkey.encodings)


@pytest.mark.parametrize("name", NAMES)
def test_retrieval_is_trained_at_many_lengths_and_asked_where_the_gate_is(name: str) -> None:
    settings = config.profile(name).passkey
    recipe = settings.recipe
    assert recipe.varied and recipe.gate and recipe.length in recipe.gate.lengths
    assert recipe.varied.shortest < min(recipe.gate.lengths)
    assert set(recipe.gate.lengths) <= set(settings.evaluation.lengths) & set(settings.hard.lengths)
    if name != "smoke":
        assert min(recipe.gate.lengths) == 0.75 * recipe.length and settings.evaluation.samples >= 50
        assert max(settings.far.lengths) == 64 * recipe.length and settings.far.samples >= 20


def test_what_a_profile_leaves_out_is_named_and_has_no_runs(tmp_path: Path) -> None:
    profile = written(tmp_path, values() | {"name": "mine", "without": ["confound", "nope"]})
    full = config.profile("smoke")
    for name in ("confound", "nope"):
        assert not EXPERIMENTS[name].plan(profile, unread(profile)) and EXPERIMENTS[name].plan(full, unread(full))
        assert EXPERIMENTS[name].measured(profile, tmp_path, tmp_path) == {}
    with pytest.raises(ValueError, match=r"without = confounds, nop; the experiments are passkeys, "):
        written(tmp_path, values() | {"name": "mine", "without": ["confounds", "nop"]})


@pytest.mark.parametrize("name", NAMES)
def test_the_authors_base_of_rope_where_models_are_of_their_kind(name: str) -> None:
    profile = config.profile(name)
    base = 500_000 if name in ("gpu", "paper") else 10_000
    sizes = (profile.passkey.size, profile.language.size, profile.needles.size, *profile.ablations.sizes)
    assert {size.rope_base for size in sizes} == {base}
    assert profile.nope.size.rope_base == profile.algorithms.size.rope_base == 10_000, "other papers' models"


@pytest.mark.parametrize("name", NAMES)
def test_the_authors_form_of_goat_is_that_for_the_training_length(name: str) -> None:
    """Their bump and slope are written for one L; our row without a number has L = 128."""
    profile = config.profile(name)
    lengths = {
        "needles": profile.needles.lessons[-1].recipe.length,
        "genomes": profile.genomes.recipe.length,
        "goat_passkey": profile.passkey.recipe.length * profile.goat_passkey.multiple,
    }
    for section, length in lengths.items():
        for row in getattr(profile, section).encodings:
            if name != "smoke" and row.startswith("goat-code"):
                assert row == ("goat-code" if length == 128 else f"goat-code-{length}")


def written(folder: Path, data: object, name: str = "mine") -> config.Profile:
    """A profile file of this text or data, read; a profile of another name gets this one."""
    if isinstance(data, dict) and data.get("name") == "smoke":
        data = data | {"name": name}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # ten times as fast where it was built
    text = data if isinstance(data, (str, bytes)) else yaml.dump(data, Dumper=dumper)
    (folder / f"{name}.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return config.profile(name, folder)


def changed(path: str, value: object, data: dict | None = None) -> dict:
    """The smoke profile, or `data`, with a value at a dotted path; a number is a place in a list."""
    data = values() if data is None else data
    owner: Any = data
    *parts, last = (int(part) if part.isdecimal() else part for part in path.split("."))
    for part in parts:
        owner = owner[part]
    owner[last] = value
    return data


UNKNOWN_KEYS = [
    ("thread", "threads"),
    ("passkey.encoding", "encodings"),
    ("needles.lessons.1.recipe.stepz", "steps"),
    ("goat_passkey.seed", "seeds"),
]


@pytest.mark.parametrize(("path", "nearest"), UNKNOWN_KEYS)
def test_unknown_keys_name_file_key_and_the_nearest_valid_key(path: str, nearest: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=rf"^mine\.yaml: unknown key '{path}'; the nearest valid key is '{nearest}'$"):
        written(tmp_path, changed(path, 1))


INF, NAN = float("inf"), float("nan")
ENCODING_LISTS = [f"passkey.{name}" for name in ("encodings", "farthest_encodings", "hard_encodings")]
ENCODING_LISTS += [f"{name}.encodings" for name in ("benchmark", "language", "algorithms", "needles", "readings")]
ENCODING_LISTS += [f"{name}.encodings" for name in ("goat_passkey", "goat_language", "goat_offsets")]
ENCODING_LISTS += [f"readings.{name}" for name in ("extensions", "tuned", "small", "longer", "fading")]
ENCODING_LISTS += [
    f"ablations.{name}" for name in ("start", "subset", "sign", "scaling", "version", "misread", "language", "length")
]


# Where in a profile, what stands there, what is said about it.
BAD_VALUES = [
    ("threads", 100_000, r"threads: .*less than or equal to 1024 \(got 100000\)"),
    ("workers", 5000, r"workers: .*less than or equal to 1024"),
    ("seeds", [0, 0], r"seeds: 0 stands there twice; name each once \(got \[0, 0\]\)"),
    ("seeds", 3, r"^mine\.yaml: seeds: write a list, seeds: \[3\] \(got 3\)$"),
    ("seeds", ["a"], r"^mine\.yaml: seeds\.0: [^;]*$"),
    ("minutes", {"passkeyz": 1}, r"minutes\.passkeyz: unknown notebook 'passkeyz' \(nearest: passkeys\)"),
    ("passkey.recipe.warmup", True, r"passkey\.recipe\.warmup: .*valid integer.*\(got 'true'\)"),
    ("device", "tpu", "device: unknown device 'tpu'; use 'auto', 'cpu', 'cuda' or 'cuda:<number>'"),
    ("goat_passkey.size.heads", 4, r"goat_passkey: heads of width 8 leave no content beside 10 coordinates"),
    ("goat_passkey.far.lengths", [40], r"goat_passkey: far\.lengths: 40, but a prompt takes 77 tokens or more"),
    ("needles.lessons.0.mixture", {"single-1": 0}, "give at least one task, each with a weight of 1 or more"),
    ("needles.lessons.0.mixture", {"single-4": 1}, "unknown task 'single-4': did you mean 'single-"),
    ("needles.lessons.1.mixture", {"multiquery": 1}, "'single-1' is not in the last lesson's mixture; add it there"),
    ("needles.lessons.0.recipe.varied.shortest", 60, r"shortest = 60, but the task 'echo-\d' takes at least 76 tokens"),
    ("needles.lessons.0.recipe.gate.lengths", [70], r"recipe\.gate\.lengths = 70, but the task"),
    ("needles.tasks", ["single-4"], "unknown task 'single-4': did you mean 'single-"),
    ("needles.tasks", ["echo-1"], "'echo-1' is a lesson, which nobody is asked; choose from single-1, "),
    ("needles.evaluation.lengths", [100, 200], "lengths = 100, but the task 'multiquery' takes at least 176 tokens"),
    ("needles.evaluation.lengths", [400], "begin at 400, beyond the training length 200; ask up to it too"),
    ("parallel_needles.methods", ["k3", "k33"], "unknown method 'k33'; choose from plain"),
    ("parallel_needles.far_methods", ["k2"], "'k2' is none of the methods; add it"),
    ("parallel_needles.far.lengths", [20], "20, but a prompt takes 77 tokens or more"),
    ("parallel_language.methods", ["oracle"], "unknown method 'oracle'; choose from plain"),
    ("parallel_language.far_methods", ["k1"], "'k1' is none of the methods; add it"),
    ("genomes.beginning", 40, "40 bases and 2 pieces of 8 make 56, but a window has 49; shorten"),
    ("genomes.scored", 46, "46 scored bases of 49 leave fewer than order = 4"),
    ("genomes.genome", "chr2", r"'chr2' \(nearest: chr22\)"),
    ("genomes.order", 2, "greater than or equal to 3"),
    ("genomes.texts", 2, "greater than or equal to 3"),
    ("division.evaluation.lengths", [40], r"lengths = 40, but addresses up to 64 need at least"),
    ("division.evaluation.lengths", [112, 256], r"lengths lack \[128\], at which the gate"),
    ("division.multiple", 1, r"multiple: .*greater than or equal to 2 \(got 1\)"),
    ("nope.encodings", ["rope", "nope"], "'nope' and then others to compare it with"),
    ("nope.encodings", ["nope"], "'nope' and then others to compare it with"),
    ("algorithms.longest", 66, "take 132 positions, but sinusoidal-randomised-128 has 128"),
    ("algorithms.longest", 4, "leave no length within training or none beyond it; trained up to 4"),
    ("algorithms.tasks", ["copy", "sort"], "unknown algorithmic task 'sort'"),
    ("copying.multiples", [2, 4], r"multiples = \[2, 4\]; give 1, the training length, and numbers above it"),
    ("copying.prior_rates", {"bam": 0.5}, "prior_rates: bam, which encodings lacks; name rows of encodings alone"),
    ("copying.encodings", ["nope", "alibi"], "but none has a prior over lags and one over keys"),
    ("goat_passkey.rates", {"bam": 0.5}, "rates: bam, which encodings lacks"),
    ("resolution.images", "glyph", "unknown pictures 'glyph'"),
    ("resolution.sides", [32, 42], "42 x 42 pixels"),
    ("resolution.sides", [40, 48], "lack 32, at which models are trained"),
    ("resolution.patch", 5, "no grid of patches of 5"),
    ("resolution.recipe.length", 60, r"recipe\.length = 60"),
    ("resolution.encodings", ["goat-2d", "goat"], "'goat'; choose one of nope-2d"),
    ("resolution.encodings", ["goat-2d", "goat-2d"], "name each once"),
    ("resolution.samples", 0, r"resolution\.samples"),
    ("stretches.size.heads", 4, "heads of 16, but .* heads of 32 or more"),
    ("stretches.tuned", ["bam"], "'bam' is not RoPE and does not extend it; take it out"),
    ("stretches.longer", {"rope-ntk": 1600}, r"longer: '.*' with \d+ steps is no row .*; name one, and more"),
    ("stretches.encodings", ["rope-pi", "bam"], "without 'rope'.*add it"),
    ("passkey.recipe.betas", [2, 3], r"passkey\.recipe\.betas\.0: .*less than 1 \(got 2\); .*betas\.1: "),
    ("passkey.recipe.optimizer", "sgd", r"passkey\.recipe\.optimizer: .*'radam', .*\(got 'sgd'\)"),
    ("passkey.recipe.steps", 2.5, r"passkey\.recipe\.steps: .*\(got 2\.5\)"),
    ("passkey.recipe.steps", 3, "warmup = 2 and cooldown = 2 exceed steps = 3"),
    ("passkey.recipe.length", 20, r"passkey\.recipe: shortest = 80, but the longest text has 20 tokens"),
    ("passkey.far.lengths", [20, 512], r"passkey: far\.lengths = 20, but a prompt takes at least"),
    ("passkey.recipe.varied.shortest", 60, r"recipe\.varied\.shortest = 60, but a prompt takes at least \d+ tokens"),
    ("passkey.recipe.varied.shortest", 200, "shortest = 200, but the longest text has 128 tokens"),
    ("passkey.recipe.varied.keyless", 1.0, r"keyless: .*less than 1 \(got 1\.0\)"),
    ("passkey.evaluation.lengths", [128, 256], r"passkey: evaluation\.lengths lack \[112\], at which the gate asks"),
    ("passkey.hard.lengths", [112, 256], r"passkey: hard\.lengths lack \[128\], at which the gate asks"),
    ("confound.evaluation.lengths", [60], r"confound: evaluation\.lengths: 60, but a prompt takes 77 tokens or more"),
    ("main", ["bamm"], "main.0: unknown encoding 'bamm' \\(nearest: bam\\)"),
    ("language.more_steps", {"nope": 4}, r"language\.more_steps\.nope: .*less than or equal to 3 \(got 4\)"),
    ("language.more_steps", {"t5": 2}, "language: more_steps has t5, but encodings does not; name it in both"),
    ("language.more_steps", {"nop": 2}, "unknown encoding 'nop' \\(nearest: nope\\)"),
    ("passkey.size.width", 33, "passkey\\.size: width = 33 is not a multiple of heads = 2"),
    ("language.documents", "many", r"language\.documents: .*\(got 'many'\)"),
    ("language.corpus", "docstring", "language\\.corpus: unknown corpus 'docstring': did you mean 'docstrings'"),
    ("language.corpus", "stream:finewebb", "language\\.corpus: unknown hub corpus 'finewebb'.*nearest is 'f"),
    ("language.scored", 65, "language: 65 scored tokens do not fit into a text of 64"),
    ("nope.encodings", ["nope", "ropee"], "nope\\.encodings\\.1: unknown encoding 'ropee'"),
]


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a profile with its dotted path."""
    yield path[1:], value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        yield from places(each, f"{path}.{name}")


def told(folder: Path, value: object, *paths: str) -> set[str]:
    """The keys that are named when this value stands at all of these paths at once."""
    data = values() | {"name": "mine"}
    for path in paths:
        changed(path, value, data)
    with pytest.raises(ValueError) as caught:
        written(folder, data)
    return set(re.findall(r"(?:^|; )mine\.yaml: ([^:]+): ", str(caught.value)))


NUMBERS = {path for path, value in places(values()) if type(value) in (int, float)}
LISTS = {path: value for path, value in places(values()) if isinstance(value, list) and ".gate." not in path}
APART = re.compile(r"betas|longest|multiples|gate\.lengths|mixture|factors")  # held against others of the section
ZERO = {"cooldown", "cut", "final_rate", "give_up", "keyless", "seeds", "text_weight", "warmup", "weight_decay"}


@pytest.mark.parametrize("number", [-1, 0, INF, NAN])
def test_every_number_has_its_bounds(number: float, tmp_path: Path) -> None:
    found = told(tmp_path, number, *NUMBERS)
    missed = {path for path in NUMBERS - found if not APART.search(path) and not path.startswith("minutes")}
    free = {re.sub(r"\.\d+$", "", path).rpartition(".")[2] for path in missed}
    assert {re.sub("^(main|size)_", "", name) for name in free} == (ZERO if number == 0 else set())


def test_lists_are_not_empty_have_no_number_twice_and_encodings_are_known(tmp_path: Path) -> None:
    several = {path for path, each in LISTS.items() if len(each) > 1 and {type(one) for one in each} == {int}}
    several = {path for path in several if not APART.search(path)}
    assert several and several == told(tmp_path, [1, 1], *several)
    needed = {path for path in LISTS if re.search(r"(^|\.)(seeds|main_seeds|lengths|lessons)$", path)}
    assert needed <= told(tmp_path, [], *needed)
    assert {f"{path}.0" for path in ENCODING_LISTS} <= told(tmp_path, ["bamm"], *ENCODING_LISTS)


@pytest.mark.parametrize(("path", "value", "message"), BAD_VALUES)
def test_bad_values_name_file_key_and_value_in_one_line(path: str, value: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        written(tmp_path, changed(path, value))
    said = str(caught.value)
    assert said.startswith("mine.yaml: ") and "\n" not in said and "pydantic" not in said


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    data = changed("threads", 0)
    data["language"]["documents"] = 0
    del data["nope"], data["passkey"]["recipe"]["clip"]
    with pytest.raises(ValueError, match="Field required") as caught:
        written(tmp_path, data)
    keys = [part.split(": ")[1] for part in str(caught.value).split("; ")]
    assert sorted(keys) == ["language.documents", "nope", "passkey.recipe.clip", "threads"]


def test_a_profile_is_called_as_its_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^mine\.yaml: name: the file is called mine\.yaml; .* \(got 'cpu'\)$"):
        written(tmp_path, values() | {"name": "cpu"})


NO_PROFILES = [
    ("", r"mine\.yaml: a profile is a mapping"),
    ("- 1\n", r"mine\.yaml: a profile is a mapping"),
    ("a: [1", r"mine\.yaml is not valid YAML"),
    ("a: 1\nb: {c: 1, c: 2}\n", r"mine\.yaml is not valid YAML.* 'c' stands there twice; name it once .* line 2"),
    ("base: mine\nname: mine\n", r"mine\.yaml: base: mine names itself; name another profile"),
    (b"name: \xff\xfe", r"mine\.yaml is not UTF-8 text \(.* at byte 6\); save it as UTF-8"),
    (b"name: a\x00b", r"mine\.yaml is not valid YAML"),
]


def test_another_device() -> None:
    profile = config.profile("cpu")
    assert profile.on("auto") is profile and profile.on("cuda:1").device == "cuda:1"
    assert profile.on("cuda").passkey == profile.passkey
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        profile.on("tpu")


RECIPE = {
    "name": "mine",
    "optimizer": "adamw",
    "rate": 0.1,
    "prior_rate": 1.0,
    "steps": 2,
    "batch": 1,
    "length": 8,
    "warmup": 0,
    "final_rate": 0.1,
    "weight_decay": 0.0,
    "betas": (0.9, 0.95),
    "clip": 1.0,
    "text_weight": 0.0,
    "checkpoint_every": 1,
}


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (config.Evaluation, {"lengths": (), "samples": 1}, r"Evaluation: lengths: .*at least 1 item.* \(got \(\)\)"),
        (config.Evaluation, {"lengths": (8,), "samples": 0}, r"Evaluation: samples: .*\(got 0\)"),
        *(
            (config.Recipe, RECIPE | {key: value}, rf"Recipe: {key}: .*\(got {value}\)")
            for key in ("rate", "target")
            for value in (INF, NAN)
        ),
        (config.Recipe, RECIPE | {"stepz": 1}, "Recipe: unknown key 'stepz'; the nearest valid key is 'steps'"),
        (config.Size, {"width": 10, "layers": 1, "heads": 4, "hidden": 1}, "Size: width = 10 is not a multiple"),
    ],
)
def test_values_made_in_code_are_refused_in_one_line_too(model: type, arguments: dict, message: str) -> None:
    for make in (lambda: model(**arguments), lambda: model.model_validate(arguments)):
        with pytest.raises(ValueError, match=f"^{message}") as caught:
            make()
        assert "\n" not in str(caught.value)
    assert config.Recipe(**RECIPE) == config.Recipe.model_validate(RECIPE)


def test_a_model_that_cannot_be_built_is_refused() -> None:
    good = {"vocabulary": 8, "width": 12, "layers": 1, "heads": 4, "hidden": 8, "encoding": "bam"}
    assert config.parse(config.ModelConfig, good, "model").kv_heads is None
    for change, message in (
        ({"width": 10}, "width = 10 is not a multiple of heads = 4"),
        ({"kv_heads": 3}, "heads = 4 is not a multiple of kv_heads = 3"),
        ({"kv_heads": 0}, "kv_heads"),
        ({"layers": 0}, "layers"),
        ({"depth": 2}, "unknown key 'depth'"),
        ({"encoding": "bamm"}, "unknown encoding 'bamm'"),
    ):
        with pytest.raises(ValueError, match=message):
            config.parse(config.ModelConfig, good | change, "model")
