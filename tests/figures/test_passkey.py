"""Figures and tables of passkeys on made-up answers: what they show, at every profile's shape, legibly."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import confound, passkeys
from attention_priors.figures import FIGURES, TABLES
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.methods import SIX, label
from attention_priors.figures.passkey import depth as depths
from attention_priors.figures.passkey.lines import CONTROLS, shared
from attention_priors.figures.words import prompts
from attention_priors.positions.encodings import encoding


def answers(profile, rule):
    """The rows of experiments.passkeys.samples, answered by rule(form, encoding, seed, multiple, depth)."""
    settings, rows = profile.passkey, []
    wanted = [("plain", name, settings.evaluation) for name in settings.encodings]
    wanted += [("plain", name, settings.far) for name in settings.encodings]
    wanted += [("plain", name, settings.farthest) for name in settings.farthest_encodings]
    wanted += [("hard", name, settings.hard) for name in settings.hard_encodings]
    wanted += [("plain", passkeys.UNTRAINED, settings.evaluation)]
    for form, name, evaluation in wanted:
        for seed in profile.seeds_for(name) if name != passkeys.UNTRAINED else profile.seeds[:1]:
            for length in evaluation.lengths:
                for depth in np.linspace(0, 1, evaluation.samples) if evaluation.samples > 1 else [0.5]:
                    hit = name != passkeys.UNTRAINED and rule(form, name, seed, length / settings.recipe.length, depth)
                    rows.append(
                        {
                            "form": form,
                            "encoding": name,
                            "seed": seed,
                            "length": length,
                            "depth": round(depth, 6),
                            "digits": 5 * int(hit),
                            "correct": int(hit),
                        }
                    )
    return pd.DataFrame(rows)


def training(profile):
    """Turns of the gate of every model: nothing, then all."""
    settings = profile.passkey
    models = [("plain", name) for name in settings.encodings if encoding(name).trained_as is None]
    models += [("hard", name) for name in settings.hard_encodings]
    return pd.DataFrame(
        {"form": form, "encoding": name, "seed": seed, "step": step, "accuracy": step / 40, "steps": 190, "most": 2000}
        for form, name in models
        for seed in profile.seeds_for(name)
        for step in (20, 40)
    )


def between(profile, rule):
    """The rows of experiments.confound.measure: of one length, only that length is answered."""
    settings, trained = profile.confound, profile.passkey.recipe.length
    rows = [
        {
            "training": way,
            "encoding": name,
            "seed": seed,
            "length": length,
            "samples": 20,
            "trained": trained,
            "correct": 20 * int(way == confound.VARIED or length == trained),
        }
        for way in (confound.FIXED, confound.VARIED)
        for name in settings.encodings
        for seed in profile.seeds
        for length in settings.evaluation.lengths
    ]
    frame = pd.DataFrame(rows)
    return frame.assign(accuracy=frame["correct"] / frame["samples"])


def metrics(profile, rule):
    rows = answers(profile, rule).assign(trained=profile.passkey.recipe.length)
    by_length, turns, asked = passkeys.by_length(rows), training(profile), between(profile, rule)
    frames = {
        "passkey_samples": rows,
        "passkey_by_length": by_length,
        "passkey_over_seeds": passkeys.accuracy(rows),
        "passkey_reach": passkeys.reach(rows),
        "passkey_training": turns,
        "passkey_gate": passkeys.learned(by_length, turns),
        "passkey_confound": asked,
        "passkey_between": confound.between(asked),
    }
    return frames


def falling(form, name, seed, multiple, depth):
    limit = {"bam-ssmax": 200.0, "bam": 8.0}.get(name, 2.0)
    return multiple <= limit or (multiple <= 3 * limit and seed == 0) or (name == "bam-ssmax" and depth > 0.55)


def laid_out():
    """The full profile's encodings at lengths and with seeds that do not move when its budget is set anew."""
    profile = config.profile("full").model_copy(update={"seeds": (0, 1, 2), "main_seeds": (0, 1, 2, 3, 4)})
    lengths = tuple(128 * 2**k for k in range(6))
    changes = {
        "evaluation": (lengths, 20),
        "far": ((8192,), 10),
        "farthest": ((16384, 32768, 64000), 10),
        "hard": (lengths[:5], 20),
    }
    changed = {name: config.Evaluation(lengths=n, samples=k) for name, (n, k) in changes.items()}
    changed |= {"farthest_encodings": ("bam", "bam-ssmax"), "hard_encodings": ("alibi-ssmax", "bam-ssmax")}
    return profile.model_copy(update={"passkey": profile.passkey.model_copy(update=changed)})


@pytest.fixture(scope="module")
def cpu():
    return metrics(laid_out(), falling)


def labels(figure):
    return {text.get_text() for text in figure.axes[0].texts}


def test_the_six_encodings_and_the_controls_are_named(cpu):
    bases = [label(base) for base in SIX]
    scaled = labels(FIGURES["passkey_by_length"].draw(cpu["passkey_by_length"]))
    assert scaled == {*(f"{label} SSMax" for label in bases), CONTROLS["label"]}


def test_lines_are_means_and_dots_are_seeds(cpu):
    figure = FIGURES["passkey_by_length"].draw(cpu["passkey_by_length"])
    rows = shared(cpu["passkey_by_length"])
    lines = {line.get_label(): line for line in figure.axes[0].get_lines() if not line.get_label().startswith("_")}
    own = rows[rows["encoding"] == "bam-ssmax"]
    assert np.allclose(lines["BAM SSMax"].get_ydata(), own.groupby("length")["accuracy"].mean())
    dots = [line for line in figure.axes[0].get_lines() if line.get_label() == "_seeds"]
    assert sum(len(line.get_xdata()) for line in dots) == len(rows)


def test_lengths_that_only_one_encoding_was_asked_at_are_left_out(cpu):
    rows = shared(cpu["passkey_by_length"])
    assert rows["length"].max() == 4096
    top = FIGURES["passkey_by_length"].draw(cpu["passkey_by_length"]).axes[0].child_axes[0]
    assert [tick.get_text() for tick in top.get_xticklabels()] == ["1×", "2×", "4×", "8×", "16×", "32×"]


def test_one_seed_has_no_band():
    frame = pd.DataFrame(
        {"encoding": "bam", "length": [128, 256], "accuracy": [1.0, 0.5], "correct": [2, 1], "samples": 2}
    )
    assert over_seeds(frame, "accuracy", shares)[["low", "high"]].isna().all(axis=None)


def test_the_heat_map_averages_seeds_and_marks_empty_cells(cpu):
    table = depths.cells(cpu["passkey_samples"])
    assert table.shape == (5, 10)
    rows = cpu["passkey_samples"]
    rows = rows[(rows["encoding"] == "bam-ssmax") & (rows["form"] == "plain") & (rows["length"] == 32768)]
    assert table[32768].iloc[0] == pytest.approx(rows[rows["depth"] < 0.2]["correct"].mean()) == 0.2
    texts = [text.get_text() for text in depths.draw(cpu["passkey_samples"]).axes[0].texts]
    assert len(texts) == 6 * 11
    empty = cpu["passkey_samples"].assign(correct=0)
    assert {text.get_text() for text in depths.draw(empty).axes[0].texts} == {"✕"}
    assert "50 are at 0" in depths.caption(empty) and "0 of 50 cells are perfect" in depths.caption(empty)


def test_depths_fall_evenly_into_five_bands():
    for n in (20, 10, 5):
        depths = np.minimum((np.round(np.linspace(0, 1, n), 6) * 5).astype(int), 4)
        assert np.bincount(depths).tolist() == [n // 5] * 5


def test_every_seed_has_its_interval_in_the_far_figure(cpu):
    figure = FIGURES["passkey_far"].draw(cpu["passkey_by_length"])
    rows = cpu["passkey_by_length"]
    ours = rows[(rows["encoding"] == "bam-ssmax") & (rows["form"] == "plain")]
    assert [ax.get_title() for ax in figure.axes] == ["BAM", "BAM SSMax"]
    bars = figure.axes[1].collections
    ends = np.concatenate([bar.get_segments() for bar in bars])[:, :, 1]
    assert len(ends) == len(ours) == 50
    assert np.allclose(np.sort(ends[:, 0]), np.sort(ours["low"])) and np.allclose(
        np.sort(ends[:, 1]), np.sort(ours["high"])
    )


@pytest.mark.parametrize(
    "counts, said",
    [
        ({1: 20, 2: 20, 4: 20}, "20 prompts at each length and seed"),
        ({1: 20, 2: 20, 4: 20, 8192: 5, 16384: 5}, "20 prompts at each length and seed, 5 from 8,192 on"),
        ({1: 20, 2: 20, 4096: 5}, "20 prompts at each length and seed, 5 at 4,096"),
        ({1: 5, 2: 20, 4: 20, 8: 5, 16: 20}, "20 prompts at each length and seed, 5 at 1 and 8"),
    ],
)
def test_prompts_are_counted_length_by_length(counts, said):
    assert prompts(pd.DataFrame({"length": counts.keys(), "samples": counts.values()})) == said


def test_captions_say_where_fewer_prompts_were_asked(cpu):
    for caption in (FIGURES["passkey_far"].caption(cpu["passkey_by_length"]), depths.caption(cpu["passkey_samples"])):
        assert "20 prompts at each length and seed, 10 from 8,192 on" in caption


def test_the_tables(cpu):
    accuracy = TABLES["passkey_accuracy"].build(cpu["passkey_over_seeds"])
    row = accuracy[(accuracy["form"] == "plain") & (accuracy["encoding"] == "ALiBi")].iloc[0]
    assert row["128 (1×)"] == "1.00 [0.96, 1.00]", "100 of 100 prompts"
    assert row["64,000 (500×)"] == "–" and row["seeds"] == 5
    assert row["512 (4×)"].startswith("0.20 [0.00, ")
    assert accuracy["encoding"].iloc[0] == "NoPE" and accuracy["form"].iloc[-1] == "hard"
    reach = TABLES["passkey_reach"].build(cpu["passkey_reach"]).set_index(["form", "encoding"])
    ours = reach.loc[("plain", "BAM SSMax")]
    assert (ours["median (tokens)"], ours["median / training length"]) == ("16,384", "128")
    assert (ours["lowest (tokens)"], ours["highest (tokens)"]) == ("16,384", ">64,000")
    assert reach.loc[("hard", "BAM SSMax")]["median (tokens)"] == ">2,048"
