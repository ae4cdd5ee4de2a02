"""The benchmark of language models in figures and a table, on made-up losses at every profile's shape."""

import numpy as np
import pandas as pd
import pytest

from attention_priors import config
from attention_priors.experiments import readings as experiment
from attention_priors.figures import TABLES, NotCompared
from attention_priors.figures.encodings import benchmark, readings
from attention_priors.figures.language import models
from attention_priors.positions.encodings import encoding
from attention_priors.publish.report import Report
from attention_priors.store.layout import Layout


def losses(profile, seeds=None, noise=0.02):
    """Priors are level, the rest grows; interpolation starts high; readings have a little noise."""
    rng, rows, trained = np.random.default_rng(0), [], profile.language.recipe.length
    own = profile.readings
    parts = {
        "benchmark": dict.fromkeys((*profile.language.encodings, *own.encodings)),
        "extensions": own.extensions,
        "tuned": own.tuned,
    }
    for part, names in parts.items():
        for name in names:
            row = encoding(name)
            for seed in seeds or profile.seeds:
                for length in experiment.lengths(profile, part, trained):
                    if length <= (row.longest or np.inf):
                        slope = 0.0 if row.prior else 0.02 if row.trained_as else 0.15
                        start = 4 + 0.8 * (name == "rope-pi") + noise * rng.standard_normal()
                        at = trained * (own.tuning.factor if part == "tuned" else 1)
                        rows.append(
                            {
                                "part": part,
                                "encoding": name,
                                "seed": seed,
                                "length": length,
                                "documents": 8,
                                "passed": name != "nope",
                                "order_loss": 2.0,
                                "swap": 0.5 + noise * seed,
                                "bag": 2.0,
                                "preferred": 0.8,
                                "pairs": 16,
                                "trained": at,
                                "run": "r",
                                "domain": "docstrings",
                                "loss": start + slope * np.log2(length / trained),
                            }
                        )
    return experiment.growth(pd.DataFrame(rows)).assign(scored=64, unigram=344.0)


def by_length(profile, **how):
    return experiment.by_length(losses(profile, **how))


def test_what_a_profile_leaves_out_is_not_drawn():
    profile = config.profile("cpu")
    fig = benchmark.draw_perplexity(by_length(profile))
    assert len(fig.axes[0].get_yticklabels()) == len(profile.language.encodings)
    assert "†: no seed passed the gate" in benchmark.caption_perplexity(by_length(profile))
    for act in (readings.draw_extensions, readings.build_neighbours, models.build_sizes):
        with pytest.raises(NotCompared):
            act(losses(profile))


def test_tables_of_neighbours_and_sizes():
    profile = config.profile("full")
    frame = losses(profile)
    table = readings.build_neighbours(frame).set_index("read as")
    assert len(table) == 1 + sum(encoding(name).trained_as == "rope" for name in profile.readings.extensions)
    assert table.loc["RoPE", "true order preferred"] == "0.80" and "16 held-out texts" in readings.caption_neighbours(
        frame
    )
    small = frame.query("part == 'benchmark' and length == trained and encoding in @profile.readings.small")
    both = pd.concat([frame, small.assign(part="small", loss=lambda rows: rows["loss"] + 1)])
    built = models.build_sizes(both).set_index("encoding")
    assert set(built.index) == {encoding(name).label for name in profile.readings.small}
    assert float(built.loc["ALiBi", "second size, loss (nats)"].split()[0]) > 4.9
    assert "128 tokens" in models.caption_sizes(both)


def test_one_seed_has_no_interval_anywhere():
    profile = config.profile("full")
    frame = by_length(profile, seeds=(0,))
    assert "wider" not in benchmark.caption_perplexity(frame)
    assert "[" not in "".join(benchmark.build_perplexity(frame)["growth at 4× (nats)"])
    readings.draw_extensions(losses(profile, seeds=(0,))).draw_without_rendering()


def test_the_order_is_by_growth_where_all_were_read():
    frame = by_length(config.profile("full"))
    names = benchmark.most_level(frame)
    assert encoding(names[0]).prior is not None or names[0].startswith("nope") is False
    assert names[-1] == "rope-pi", "far from its own start, though level"
    assert len(names) == frame["encoding"].nunique()


def test_what_was_not_read_is_empty_and_what_is_undefined_says_so():
    profile = config.profile("full")
    frame = by_length(profile)
    fig = benchmark.draw_perplexity(frame)
    names, lengths = benchmark.most_level(frame), sorted(set(frame["length"]))
    cells = [text for text in fig.axes[0].texts if text.get_ha() == "center"]
    assert len(cells) == len(names) * len(lengths)
    read = sum(frame["state"] == "read")
    assert sum(bool(text.get_text()) for text in cells) == read < len(cells)
    labels = [text.get_text() for text in fig.axes[0].get_yticklabels()]
    assert labels == [encoding(name).label + " †" * (name == "nope") for name in names]


def test_every_reading_has_a_row_under_its_question_and_starts_from_rope():
    frame = losses(config.profile("full"))
    fig = readings.draw_extensions(frame)
    names = [tick.get_text() for tick in fig.axes[0].get_yticklabels()]
    assert names == [text for rows in readings.GROUPS.values() for _, _, text in rows] and names[0] == "RoPE"
    assert {text.get_text() for text in fig.axes[0].texts} == set(readings.GROUPS)
    assert len(names) == len(set(names))


def test_the_table_has_a_row_for_each_and_says_whose_weights():
    profile = config.profile("full")
    frame = by_length(profile)
    table = benchmark.build_perplexity(frame).set_index("encoding")
    assert len(table) == frame["encoding"].nunique()
    assert "RoPE + YaRN (weights of RoPE)" in table.index and table.loc["T5 buckets", "growth at 64× (nats)"] != "–"
    assert table.loc["RoPE + YaRN (weights of RoPE)", "growth at 64× (nats)"] == "–"
    found = frame[(frame["encoding"] == "t5") & (frame["length"] == 512)].iloc[0]
    expected = f"{found['growth']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    assert table.loc["T5 buckets", "growth at 4× (nats)"] == expected


def test_they_are_written_with_their_origin(tmp_path):
    profile = config.profile("smoke")
    report = Report(Layout(tmp_path, "smoke"), benchmark.NOTEBOOK)
    report.metrics("encodings_perplexity", by_length(profile), "k", "paper")
    report.metrics("language_readings", losses(profile), "k", "paper")
    report.figure("encodings_perplexity")
    report.figure("extensions_perplexity")
    report.table("encodings_perplexity")
    text = (tmp_path / "smoke" / "figures" / "encodings_perplexity.md").read_text()
    assert "recipe paper" in text and "profile smoke" in text


def test_the_property_table_has_words_for_every_entry_and_no_number_where_nothing_was_read():
    frame = losses(config.profile("full"), noise=0.001).query("encoding != 'learned' or length <= 1024")
    made = TABLES["encodings_properties"].build(frame).set_index("encoding")
    assert set(made["relative"]) | set(made["trainable"]) | set(made["in each layer"]) == {"yes", "no"}
    assert made.loc["Learned", "growth at 64× (nats)"] == "–" and made.loc["ALiBi", "extrapolates"] == "yes"
    assert made.loc["ALiBi", "the survey"] == "YNYY" and made.loc["Learned", "the survey"] == "–"
    assert "128 tokens" in TABLES["encodings_properties"].caption(frame)
