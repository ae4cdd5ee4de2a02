"""Experiments as objects: their declarations are checked, and what every one of them must offer."""

import tomllib

import pandas as pd
import pytest

from attention_priors import config, experiments
from attention_priors.experiments import EXPERIMENTS, Experiment, unread
from attention_priors.experiments.arms import passkey_run
from attention_priors.experiments.seeds import carry, over_seeds
from attention_priors.training.runs import Run

PROFILES = ("smoke", "cpu", "full", "gpu", "paper")


def made(**changes) -> Experiment:
    given = {
        "name": "mine",
        "frames": ("answers",),
        "measure": lambda profile, runs, cache: {"answers": pd.DataFrame({"right": [1, 3]})},
    }
    return Experiment(**given | changes)


def test_a_derived_metric_names_a_frame_that_there_is():
    text = r"^experiment 'mine' derives 'mean' from 'answer', .* nor needs \(nearest: answers\); correct its `derive`$"
    with pytest.raises(ValueError, match=text):
        made(derive={"mean": ("answer", lambda frame: frame)})
    with pytest.raises(ValueError, match=r"derives 'first' from 'second'"):
        made(derive={"first": ("second", len), "second": ("answers", len)})
    made(derive={"first": ("answers", len), "second": (("first", "far"), max)}, needs=("far",))


def test_what_is_measured_is_what_was_declared(tmp_path):
    profile = config.profile("smoke")
    more = made(measure=lambda *_: {"answers": pd.DataFrame(), "answer": pd.DataFrame()})
    with pytest.raises(ValueError, match=r"^experiment 'mine' measured 'answer', .*nearest: answers\); add it to"):
        more.measured(profile, tmp_path, tmp_path)
    less = made(frames=("answers", "heads"))
    with pytest.raises(ValueError, match=r"^experiment 'mine' declares 'heads', which it did not measure; take it out"):
        less.measured(profile, tmp_path, tmp_path)


def test_derived_metrics_follow_their_sources(tmp_path):
    two = made(
        needs=("scale",),
        derive={
            "double": ("answers", lambda frame: 2 * frame),
            "sum": (("double", "scale"), lambda frame, scale: frame + scale),
        },
    )
    frames = two.measured(config.profile("smoke"), tmp_path, tmp_path)
    found = two.derived(frames | {"scale": pd.DataFrame({"right": [10, 10]})})
    assert list(found) == ["double", "sum"] and found["sum"]["right"].tolist() == [12, 16]


def test_a_key_follows_settings_runs_and_version(tmp_path):
    profile = config.profile("smoke")

    def asked(profile, corpus):
        return {passkey_run(profile, "bam", 0): []}

    keys = {made().key(profile, tmp_path), made(name="other").key(profile, tmp_path)}
    keys.add(made(asked=asked).key(profile, tmp_path))
    keys.add(made(sections=("passkey",)).key(profile, tmp_path))
    keys.add(made(version=2).key(profile, tmp_path))
    more = profile.passkey.model_copy(update={"farthest_encodings": ()})
    keys.add(made(sections=("passkey",)).key(profile.model_copy(update={"passkey": more}), tmp_path))
    assert len(keys) == 6
    assert made(asked=asked).key(profile, tmp_path) == made(asked=asked).key(config.profile("smoke"), tmp_path)


@pytest.mark.parametrize("name", PROFILES)
def test_every_experiment_is_in_the_table_as_it_calls_itself(name):
    profile = config.profile(name)
    metrics = []
    for row, experiment in EXPERIMENTS.items():
        assert experiment.name == row
        assert {*experiment.sections} <= {*config.SECTIONS, "theory"}
        assert {*experiment.exact} <= {*experiment.frames}
        asked, planned = experiment.asked(profile, unread(profile)), experiment.plan(profile, unread(profile))
        wanted = {} if row in profile.without else asked
        assert len(planned) == len(wanted) and set(planned.values()) == set(wanted)
        assert isinstance(experiment.recipe(profile), str)
        metrics += [*experiment.frames, *experiment.derive]
    assert len(metrics) == len(set(metrics)), "one metric, one experiment"
    needed = {metric for experiment in EXPERIMENTS.values() for metric in experiment.needs}
    assert needed <= set(metrics)
    assert set(experiments.derived()) <= set(metrics)


def test_the_import_contract_knows_all_experiments(root):
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (ours,) = [each for each in settings["contracts"] if each["name"] == "experiments do not import each other"]
    assert ours["modules"] == sorted({EXPERIMENTS.module(name) for name in EXPERIMENTS})


def test_pucks_do_not_depend_on_the_profile(tmp_path):
    assert len({EXPERIMENTS["pucks"].key(config.profile(name), tmp_path) for name in PROFILES[1:]}) == 1


def test_one_name_is_one_run(monkeypatch):
    profile = config.profile("smoke")
    spec = passkey_run(profile, "bam", 0)
    specs = [spec.model_copy(update={"seed": seed}) for seed in (0, 1)]
    rows = {
        f"row{n}": made(name=f"row{n}", asked=lambda *_, spec=spec: {spec: []}, naming=lambda *_: names)
        for n, spec in enumerate(specs)
    }
    names = dict.fromkeys(specs, "a/b/0")
    monkeypatch.setattr(experiments, "EXPERIMENTS", rows)
    with pytest.raises(ValueError, match=r"^experiment 'row1' calls another run 'a/b/0' .*rename it in its `plan`$"):
        experiments.runs(profile, unread(profile))


def test_over_seeds_has_a_row_per_group_in_the_order_asked_for():
    frame = pd.DataFrame({"name": ["b", "a", "b"], "seed": [0, 0, 1], "value": [1.0, 5.0, 3.0], "trained": 8})
    found = over_seeds(frame, ("name",), lambda group: {"mean": group["value"].mean()})
    assert found.to_dict("list") == {"name": ["b", "a"], "mean": [2.0, 5.0]}
    sorted_ = over_seeds(frame, ("name",), lambda group: {"seeds": len(group)}, sort=True)
    assert sorted_.to_dict("list") == {"name": ["a", "b"], "seeds": [1, 2]}
    assert carry(frame, "trained", "scored") == {"trained": 8}


# Of the smallest profile: the section of an experiment, and the few encodings that are enough here.
FEW = {
    "algorithms": ("algorithms", {"tasks": ("copy", "parity"), "encodings": ("rope", "rope-randomised-128")}),
    "copying": ("copying", {"encodings": ("goat-eight",)}),
    "division": ("division", {"encodings": ("half-rope-bam",)}),
    "goat_offsets": ("goat_offsets", {"encodings": ("goat-rope",)}),
    "languages": ("language", {}),
    "learned": ("passkey", {}),
    "nope": ("nope", {"encodings": ("nope",)}),
    "parallel_needles": ("parallel_needles", {"encodings": ("rope",), "methods": ("k3",), "far_methods": ("k3",)}),
    "prior_ablations": (
        "ablations",
        {"start": (), "subset": (), "scaling": (), "sign": ("bam-negative-ssmax",), "version": ("bam",)},
    ),
    "readings": ("readings", {"encodings": ("t5",), "extensions": ("rope-pi-4",), "lengths": (16, 32)}),
    "recall": ("recall", {"encodings": ("rope",)}),
    "resolution": ("resolution", {"encodings": ("nope-2d", "goat-2d"), "class_token": (False,)}),
}


@pytest.mark.parametrize("name", FEW)
def test_what_was_measured_is_read_again_and_neither_trained_nor_asked(name, small, cache, tmp_path, monkeypatch):
    section, changes = FEW[name]
    settings = getattr(small, section)
    one = {"seeds": settings.seeds[:1]} if getattr(settings, "seeds", None) else {}
    profile = small.model_copy(update={section: settings.model_copy(update=changes | one)})
    first = EXPERIMENTS[name].measured(profile, tmp_path, cache)
    monkeypatch.setattr(Run, "model", None)  # whoever opens a model now fails
    again = EXPERIMENTS[name].measured(profile, tmp_path, cache)
    assert list(again) == list(EXPERIMENTS[name].frames)
    for frame, rows in first.items():
        pd.testing.assert_frame_equal(again[frame], rows)
        assert len(rows), frame
