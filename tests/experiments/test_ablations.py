"""Ablations: which runs there are, what is asked of them, and what is read of a trained model."""

import pytest
import torch

from attention_priors import config
from attention_priors.config import ModelConfig
from attention_priors.experiments import ablations, benchmark, passkeys
from attention_priors.experiments.answers import misread
from attention_priors.experiments.arms import extended, longer, passkey_run
from attention_priors.model import Transformer
from attention_priors.positions.variants import Misread
from attention_priors.tasks import passkey
from attention_priors.training.runs import Run

PROFILES = ("smoke", "cpu", "full", "gpu", "paper")
STUDIES = (*ablations.PRIORS, *ablations.TRAINING)


@pytest.mark.parametrize("name", PROFILES)
def test_what_another_experiment_trains_is_the_same_run(name):
    profile = config.profile(name)
    known = {*passkeys.wanted(profile), *benchmark.wanted(profile)}
    arms = ablations.arms(profile, STUDIES)
    ours = {arm.spec for arm in arms if arm.encoding == "bam-ssmax" and arm.study in ("start", "length", "size")}
    assert {passkey_run(profile, "bam-ssmax", seed) for seed in profile.main_seeds} <= ours & known
    named = ablations.naming(profile)
    assert len(set(named.values())) == len(named) and set(named) == {arm.spec for arm in arms}
    for spec, name in named.items():
        usual = spec == passkey_run(profile, spec.model.encoding, spec.seed)
        assert name == spec.name if usual else name.startswith("ablations/"), "one name, one run"
        assert usual or spec not in known


def test_longer_texts_are_fewer():
    recipe = config.profile("cpu").passkey.recipe.model_copy(update={"batch": 16, "length": 128, "accumulate": 2})
    made = longer(recipe, 4)
    assert (made.length, made.batch, made.steps) == (512, 4, recipe.steps)
    assert longer(recipe, 1) == recipe
    with pytest.raises(ValueError, match=r"batch = 16 in 2 parts cannot be 3 times fewer .* use a multiple of 6"):
        longer(recipe, 3)


def test_an_extension_starts_from_the_run_that_it_extends():
    profile = config.profile("cpu")
    base, settings = passkey_run(profile, "rope", 0), profile.ablations.interpolation
    spec = extended(base, settings, "rope-pi-4")
    assert spec.start == base and spec.model.encoding == "rope-pi-4" and base.model.encoding == "rope"
    assert spec.recipe.length == settings.factor * base.recipe.length and spec.recipe.steps == settings.steps
    assert spec.recipe.target is None and spec.recipe.rate == pytest.approx(settings.rate * base.recipe.rate)
    config.Recipe.model_validate(spec.recipe.model_dump())
    assert len({spec.key(), base.key(), extended(base, settings).key()}) == 3


def test_an_unknown_study_is_named():
    with pytest.raises(ValueError, match="unknown study 'begin'; choose among start, subset"):
        ablations.arms(config.profile("smoke"), ["begin"])


@pytest.fixture
def fake(monkeypatch):
    """Runs that train nothing and models that answer as `right` says; what was asked is kept."""
    asked, right = [], {}

    def train(run, heartbeat=None):
        return {"key": run.key, "parameters": {"transformer": run.spec.model.width}}

    class Answers:
        def __init__(self, run, name, form):
            self.name, self.run, self.misread = name, run, isinstance(self, Wrong)

        def __call__(self, length, samples):
            asked.append((self.run.spec.recipe.length, self.name, self.misread, length))
            hit = right.get((self.name, length), 1)
            return [{"depth": 0.0, "digits": 5 * hit, "correct": hit}] * samples

    class Wrong(Answers):
        pass

    monkeypatch.setattr(Run, "train", train)
    monkeypatch.setattr(ablations, "Answers", Answers)
    monkeypatch.setattr(ablations, "MisreadAnswers", Wrong)
    return asked, right


def test_counts_have_every_arm_and_the_unasked_count_as_missed(fake, tmp_path):
    asked, right = fake
    profile = config.profile("smoke").model_copy(update={"workers": 1})
    evaluation = config.Evaluation(lengths=(128, 256, 512, 1024), samples=3)
    settings = profile.ablations.model_copy(update={"give_up": 2})
    passkey_ = profile.passkey.model_copy(update={"evaluation": evaluation})
    profile = profile.model_copy(update={"ablations": settings, "passkey": passkey_})
    right |= {("alibi-ssmax", 256): 0, ("alibi-ssmax", 512): 0, ("nope-ssmax", 256): 0, ("nope-ssmax", 1024): 0}
    found = ablations.counts(profile, tmp_path, ["subset", "version"])
    arms = ablations.arms(profile, ["subset", "version"])
    assert len(found) == 4 * len(arms) and list(found["study"].unique()) == ["subset", "version"]
    table = found[found["seed"] == 0].set_index(["study", "arm", "length"]).sort_index()
    assert table.loc[("subset", "alibi-ssmax"), "asked"].tolist() == [1, 1, 1, 0]
    assert table.loc[("subset", "alibi-ssmax"), "correct"].tolist() == [3, 0, 0, 0]
    assert table.loc[("subset", "nope-ssmax"), "asked"].tolist() == [1, 1, 1, 1]
    assert {(128, "bam", True, 128), (128, "bam", False, 128)} <= set(asked)


def test_lengths_and_sizes_are_told_apart(fake, tmp_path):
    profile = config.profile("smoke").model_copy(update={"workers": 1})
    found = ablations.counts(profile, tmp_path, ablations.TRAINING)
    first = found.drop_duplicates("arm").set_index("arm")
    trained = profile.passkey.recipe.length
    assert first.loc["bam-ssmax-4T", "trained"] == 4 * trained and first.loc["bam-ssmax-4T", "started"] == 0
    large = profile.ablations.sizes[-1]
    arm = first.loc[f"{large.width}x{large.layers}-extended"]
    assert (arm["trained"], arm["started"], arm["width"]) == (2 * trained, trained, large.width)
    assert first.loc["rope-pi-4", "run"] == first.loc["rope", "run"] != first.loc["rope-pi-4-extended", "run"]


def model(name="bam"):
    torch.manual_seed(0)
    size = {"vocabulary": len(passkey.VOCABULARY), "width": 16, "layers": 2, "heads": 2, "hidden": 16}
    made = Transformer(ModelConfig(encoding=name, **size)).eval()
    with torch.no_grad():
        for block in made.blocks:
            block.attention.prior.theta_beta.fill_(0.5)
    return made


def test_misreading_changes_a_model_only_through_its_scale():
    tokens = torch.randint(10, (1, 40))
    with torch.no_grad():
        own, read = model()(tokens), misread(model())
        assert all(isinstance(block.attention.prior, Misread) for block in read.blocks)
        assert torch.allclose(read(tokens), own, atol=1e-5), "θα = 0"
        for block in read.blocks:
            block.attention.prior.trained.theta_alpha.fill_(1.0)
        assert not torch.allclose(read(tokens), own, atol=1e-3)
