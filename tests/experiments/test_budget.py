"""Every profile can be built and trained as it stands, and what it costs is said before it is paid."""

import re
from functools import cache

import pytest
import torch

from attention_priors import config
from attention_priors.checks.printed import table
from attention_priors.commands import train as command
from attention_priors.config import ModelConfig
from attention_priors.experiments import budget
from attention_priors.experiments.arms import passkey_run
from attention_priors.experiments.passkeys import Settings as PasskeySettings
from attention_priors.model import Transformer, count
from attention_priors.theory import sizes

NAMES = ("smoke", "cpu", "full", "gpu", "paper")
OWN = [
    "passkeys",
    "confound",
    "robustness",
    "benchmark",
    "training_ablations",
    "languages",
    "language_scale",
    "readings",
    "algorithms",
    "nope",
    "needles",
    "recall",
    "division",
    "copying",
    "goat_passkeys",
    "goat_offsets",
    "sinks",
    "stretches",
    "genomes",
    "resolution",
    "digits",
]
# Perhaps nothing of their own:
SHARED = [
    "goat_languages",
    "prior_ablations",
    "language_ablations",
    "learned",
    "sharpness",
    "parallel_needles",
    "parallel_language",
    "parallel_profiles",
]


@cache
def estimated(name: str) -> budget.Budget:
    return budget.estimate(config.profile(name))


def changed(name: str, section: str, **changes: object) -> config.Profile:
    """A profile with other values in a section, or in its recipe."""
    profile = config.profile(name)
    owner = getattr(profile, section)
    recipe = {k: changes.pop(k) for k in list(changes) if k in config.Recipe.model_fields}
    owner = owner.model_copy(update={**changes, "recipe": owner.recipe.model_copy(update=recipe)})
    return profile.model_copy(update={section: owner})


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_can_run(name: str) -> None:
    found = estimated(name)
    assert not found.problems
    assert set(found.parts["part"]) == {*OWN, *SHARED} - set(config.profile(name).without)
    shared = {"benchmark", "readings"} if name == "cpu" else set()  # of the runs of others there
    own = found.parts[found.parts["part"].isin({*OWN} - shared)]
    assert (own[["runs", "tokens", "read"]] > 0).all(axis=None)
    assert (found.parts[["memory", "read_memory"]] < budget.MEMORY).all(axis=None)


def test_goats_own_text_is_fetched_first() -> None:
    found = estimated("c4")
    assert not found.problems and set(found.parts["part"]) == {"sinks", "goat_languages"}
    assert any("stream:c4: fetch it first" in note for note in found.notes)


def test_gpu_has_models_of_thirty_million() -> None:
    profile = config.profile("gpu")
    for section, vocabulary in ((profile.passkey, 67), (profile.language, profile.language.vocabulary)):
        assert section.recipe.length == 512
        model = ModelConfig(vocabulary=vocabulary, encoding="bam", **section.size.model_dump())
        assert sum(budget.parameters(model).values()) == pytest.approx(30e6, rel=0.1)
    assert max(profile.passkey.farthest.lengths) == 500 * 512


def test_paper_has_the_models_of_table_1() -> None:
    profile, cells = config.profile("paper"), table("bam", 1).set_index(["attribute", "model"]).printed
    shapes = {"120M": profile.language.size, "432M": profile.ablations.sizes[1], "1.1B": profile.ablations.sizes[2]}
    assert profile.passkey.size == profile.ablations.sizes[0] == shapes["120M"]
    assert profile.language.vocabulary == sizes.VOCABULARY
    for name, size in shapes.items():
        model = ModelConfig(vocabulary=sizes.VOCABULARY, encoding="bam", **size.model_dump())
        found = budget.parameters(model)
        for part in ("embedding", "transformer"):
            assert sizes.shows(found[part], cells[part, name])
        assert found["prior"] + found["prior_fixed"] == int(cells["prior", name])
    assert profile.processes == 6 and profile.language.corpus.startswith("stream:fineweb")


@pytest.mark.parametrize("encoding", ["goat", "kerple-log", "learned", "bam-location-ssmax", "rope-bias", "lag-table"])
def test_models_are_counted_without_memory(encoding: str) -> None:
    model = ModelConfig(vocabulary=64, width=32, layers=2, heads=2, hidden=48, encoding=encoding)
    assert budget.parameters(model) == count(Transformer(model))
    with budget._Shapes():
        assert Transformer(model).head.weight.is_meta
    assert not torch.empty(2).is_meta


def test_operations_are_counted_as_is_said() -> None:
    profile = config.profile("smoke")
    spec = passkey_run(profile, "nope", 0)
    n, size, recipe = budget.parameters(spec.model)["transformer"], spec.model, spec.recipe
    tokens, needed, hours = budget.training(spec)
    assert tokens == recipe.steps * recipe.batch * recipe.length
    assert needed == 6 * n * tokens + 6 * size.layers * size.width * recipe.length * tokens
    assert hours * 3600 == pytest.approx(recipe.steps * size.layers * budget.FLOOR), "so small a model only launches"
    asked = budget.Reading("nope", 1000, 3)
    assert budget.reading(spec.model, asked)[:2] == (3000, 3000 * (2 * n + 2 * size.layers * size.width * 1000))


def test_what_is_trained_or_read_twice_counts_once() -> None:
    profile = config.profile("smoke")
    parts = estimated("smoke").parts.set_index("part")
    passkey = set(budget.work(profile)["passkeys"])
    assert parts.loc["passkeys", "runs"] == len(passkey)
    assert parts.loc["benchmark", "runs"] == len(set(budget.work(profile)["benchmark"]) - passkey)


def test_rows_that_end_early_are_named() -> None:
    notes = estimated("gpu").notes
    assert "benchmark: learned is undefined beyond 8192 tokens" in notes
    assert "benchmark: rope-randomised-ssmax is undefined beyond 8192 tokens" in notes
    assert not any("bam" in note for note in notes if "undefined" in note)
    assert any("passes 0.44 times over the packed text" in note for note in notes)


def paper(**changes: object) -> config.Profile:
    return config.profile("paper").model_copy(update=changes)


def asked(length: int) -> PasskeySettings:
    farthest = config.Evaluation(lengths=(length,), samples=1)
    return config.profile("paper").passkey.model_copy(update={"farthest": farthest})


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (paper(processes=5), "batch = 1152 is not a multiple of 5 processes x accumulate = 4"),
        (changed("paper", "language", accumulate=1), r"training takes \d+ GB of 80; raise accumulate"),
        (paper(passkey=asked(2**22)), r"768 x 12 at 4194304: reading takes \d+ GB of 80; leave the length out"),
        (
            changed("paper", "passkey", size=config.Size(width=1024, layers=12, heads=16, hidden=1536)),
            "width=1024 .* is no model of the paper: bam-120m",
        ),
    ],
)
def test_what_cannot_run_is_a_problem(profile: config.Profile, message: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(config, "profile", lambda name: profile)
    assert command.main(["--dry-run", "--profile", "paper"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("error: profile paper cannot run: ") and re.search(message, said[0])


def test_a_profile_for_a_cpu_says_what_it_takes_there(monkeypatch, capsys) -> None:
    found = {name: estimated(name) for name in ("smoke", "gpu")}
    monkeypatch.setattr(budget, "estimate", lambda profile: found[profile.name])
    assert [command.main(["--dry-run", "--profile", name]) for name in found] == [0, 0]
    assert re.findall("profile .* two CPU cores.*", capsys.readouterr().out) == [
        "profile smoke is meant for two CPU cores, not for this GPU: its notebooks take 0.1 hours, one after another"
    ]


def test_positions_that_end_before_the_training_length_are_a_problem() -> None:
    profile = changed("smoke", "passkey", length=16384)
    profile = profile.model_copy(
        update={"benchmark": profile.benchmark.model_copy(update={"encodings": ("nope", "learned")})}
    )
    wanted = "benchmark: passkey/learned/0: trained at 16384, but it has 8192 positions"
    assert wanted in budget.estimate(profile).problems


def test_runs_are_listed_without_their_corpus(capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(config, "CACHE", tmp_path)
    assert command.main(["--list", "--profile", "paper"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "passkey/bam-ssmax/0" in names and "language-stream/bam-ssmax/0" in names
    assert command.main(["language-stream/bam-ssmax/0", "--profile", "paper"]) == 2
    assert "is not on this machine" in capsys.readouterr().err
