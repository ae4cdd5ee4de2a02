"""Figures and the table of reading in chunks, in made-up worlds."""

import itertools

import pandas as pd
import pytest

from attention_priors.config import TheoryProfile
from attention_priors.experiments import parallel_language, parallel_needles, parallel_profiles
from attention_priors.figures import FIGURES, TABLES, NotCompared
from attention_priors.figures.parallel import flow, needles, profiles
from attention_priors.parallel.methods import METHODS


def world(methods=METHODS, encodings=("rope", "alibi"), seeds=(0, 1)):
    """Frames by metric, with other answers in every cell."""
    prompts, gate, ranked = [], [], []
    for encoding, seed in itertools.product(encodings, seeds):
        common = {"encoding": encoding, "seed": seed, "trained": 128}
        gate += [
            common | {"length": length, "correct": 50, "samples": 50, "per_token": 2e5, "per_pair": 768}
            for length in (96, 128)
        ]
        for place, method in enumerate(methods):
            if METHODS[method].rope and encoding != "rope":
                continue
            chunks = METHODS[method].chunks
            for length, band in itertools.product((128, 512, 2048, 8192)[: 4 if chunks else 3], range(5)):
                prompts.append(
                    common
                    | {
                        "method": method,
                        "length": length,
                        "band": band,
                        "samples": 10,
                        "correct": 10 if length == 128 else (place + band + seed) % 11,
                        "cut": 2,
                        "cut_correct": 1,
                        "kept": 8 if chunks else None,
                        "chunks": length / 108 if chunks else None,
                        "entries": 324.0 if chunks else float(length),
                    }
                )
        for length, cutting, number in itertools.product((256, 2048), parallel_needles.RANKED, range(6)):
            ranked.append(
                common
                | {
                    "length": length,
                    "cutting": cutting,
                    "rank": number + 1,
                    "chunks": length // 100,
                    "first": 0,
                    "cut": number % 2,
                }
            )
    frames = {
        "parallel_prompts": pd.DataFrame(prompts),
        "parallel_gate": pd.DataFrame(gate),
        "parallel_ranks": pd.DataFrame(ranked),
    }
    return frames | parallel_needles.EXPERIMENT.derived(frames)


def texts(encodings=("rope", "alibi"), seeds=(0, 1)):
    """Frames of the experiments on text by metric."""
    losses, along, biased, effective, heads, evictions = [], [], [], [], [], []
    for encoding, seed in itertools.product(encodings, seeds):
        common = {"encoding": encoding, "seed": seed, "trained": 128, "passed": True}
        for place, (method, length, document) in enumerate(
            itertools.product((*METHODS, parallel_language.BY_TARGETS), (128, 512, 2048), (0, 1))
        ):
            losses.append(
                common
                | {
                    "method": method,
                    "length": length,
                    "document": document,
                    "scored": 64,
                    "loss": 2 + place * (length > 128) / 100 + seed / 10,
                }
            )
        for place, kind in enumerate(parallel_profiles.KINDS):
            along += [
                common | {"kind": kind, "fifth": fifth, "share": 0.5 + (fifth + place + seed) % 5 / 4}
                for fifth in range(20)
            ]
            biased += [
                common | {"kind": kind, "document": document} | {name: 1.0 + place + seed for name in profiles.COLUMNS}
                for document in (0, 1)
            ]
        effective += [
            common | {"window": window, "document": document, "entries": 40 / window + seed / 10}
            for window in (32, 64, 128)
            for document in (0, 1)
        ]
        ways = [("none", "none"), *itertools.product(parallel_profiles.REGIONS, parallel_profiles.DEPTHS)]
        evictions += [
            common
            | {
                "region": region,
                "layers": layers,
                "document": document,
                "evicted": place / 1000,
                "distance": 0.3 + (place % 5 - 2) / 50 + seed / 100,
                "middle": 0.9 - (place % 3) / 20,
            }
            for place, (region, layers) in enumerate(ways)
            for document in (0, 1)
        ]
        heads += [
            common
            | {
                "layer": layer,
                "head": head,
                "first": 1 + head,
                "middle": 1.0,
                "last": 2.0 + layer,
                "largest": 9.0,
                "shape": parallel_profiles.SHAPES[head],
            }
            for layer in range(3)
            for head in range(4)
        ]
    frames = {"parallel_losses": pd.DataFrame(losses)}
    return (
        frames
        | parallel_language.EXPERIMENT.derived(frames)
        | {
            "parallel_profiles": pd.DataFrame(along),
            "parallel_biases": pd.DataFrame(biased),
            "parallel_effective": pd.DataFrame(effective),
            "parallel_shapes": pd.DataFrame(heads),
            "parallel_regions": pd.DataFrame(evictions),
        }
    )


FLOW = {"parallel_flow": pd.DataFrame(flow.rows(TheoryProfile(), 0))}
WORLD = world() | texts() | FLOW


def test_the_flow_is_a_pass_of_the_algorithm(small, whole, legible):
    frame = pd.DataFrame(flow.rows(small(), 0))
    legible(whole(FIGURES["parallel_flow"], frame))
    text = frame[frame["kind"] == "text"]
    lowest = text.groupby("chunk")["information"].first().nsmallest(flow.KEEP).index
    assert set(text[text["stays"] == 1]["chunk"]) == set(lowest)
    assert text.loc[text["stays"] == 0, "kept"].eq(0).all() and len(text) == flow.TEXT
    assert text[text["stays"] == 1].groupby("chunk")["kept"].sum().round(6).eq(10).all()


def test_a_map_has_a_panel_for_each_method_and_a_dash_where_none_was_asked():
    frame = WORLD["parallel_prompts"]
    figure = needles.draw(frame)
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == [each.label for each in METHODS.values()]
    dashes = [sum(text.get_text() == "–" for text in ax.texts) for ax in figure.axes[: len(titles)]]
    assert dashes == [0 if each.chunks else 1 for each in METHODS.values()]


def test_heads_that_only_look_near_are_drawn(whole, legible):
    spec, frame = FIGURES["parallel_shapes"], WORLD["parallel_shapes"].copy()
    frame.loc[frame["encoding"] == "alibi", ["first", "middle", "last"]] = (0.0, 0.0, 20.0)
    figure = spec.draw(frame)
    low, high = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    for ax in figure.axes[:2]:
        drawn = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
        points = [point for line in drawn for point in zip(*line.get_data(), strict=True)]
        assert len(points) == 24 and all(low[0] < x < low[1] and high[0] < y < high[1] for x, y in points)
    legible(whole(spec, frame))
    assert "below 0.01 of the uniform share" in spec.caption(frame)
    assert "below 0.01" not in spec.caption(WORLD["parallel_shapes"])


def test_the_table_compares_accuracy_memory_and_cost():
    spec = TABLES["parallel_needles"]
    built = spec.build(WORLD["parallel_over_seeds"])
    assert len(built) == sum(1 if each.rope else 2 for each in METHODS.values())
    row = built.set_index(["encoding", "way to read"]).loc["RoPE", "as trained"]
    assert row["pairs in reading at 16×"] == "1" and row["accuracy at 64×"] == "not asked"
    assert row["passed the gate"] == "2 of 2" and row["keys attended to at 16×"] == 2048
    assert spec.caption(WORLD["parallel_over_seeds"]).endswith(".")


def test_fair_tables_hold_memory_or_positions_equal():
    frame = WORLD["parallel_over_seeds"].copy()
    keys = frame["method"].map({"k1": 108.0, "last-window": 108.0, "halves": 110.0, "snapkv": 162.0, "k3-half": 161.0})
    frame["entries"] = keys.fillna(pd.Series(10.0 ** frame["method"].map(list(METHODS).index), frame.index))
    spec = TABLES["parallel_equal_keys"]
    built = spec.build(frame)
    assert set(built["way to read"]) == {
        METHODS[name].label for name in ("k1", "last-window", "halves", "snapkv", "k3-half")
    }
    assert built["keys attended to at 16×"].is_monotonic_increasing and "RoPE" in spec.caption(frame)
    assert built["from so many keys on"].to_list() == ["108", "", "", "161", ""]
    spec = TABLES["parallel_equal_window"]
    built = spec.build(frame)
    inside = [each.label for name, each in METHODS.items() if each.chunks or name in needles.INSIDE]
    assert sorted(built["way to read"]) == sorted(inside) and built["MFLOPs of reading at 16×"].is_monotonic_increasing
    assert set(built.columns[-2:]) == {"accuracy at 16×", "accuracy at 64×"}
    frame["entries"] = 10.0 ** frame["method"].map(list(METHODS).index)
    with pytest.raises(NotCompared, match="as many keys"):
        TABLES["parallel_equal_keys"].build(frame)


def test_differences_are_taken_within_models():
    frame = WORLD["parallel_differences"]
    one = frame[(frame["ours"] == "k3-overlap") & (frame["encoding"] == "rope") & (frame["length"] == 2048)].iloc[0]
    counts = WORLD["parallel_by_length"].set_index(["encoding", "method", "length", "seed"])["accuracy"]
    told = [counts["rope", "k3-overlap", 2048, seed] - counts["rope", "k3", 2048, seed] for seed in (0, 1)]
    assert one["difference"] == pytest.approx(sum(told) / 2) and one["low"] <= one["difference"] <= one["high"]
    assert one["seeds"] == 2 and {"pi", "snapkv"} <= set(frame["theirs"])
    titles = [ax.get_title() for ax in FIGURES["parallel_differences"].draw(frame).axes]
    assert titles == ["4×", "16×", "64×"]


def test_pairs_are_those_of_rows():
    assert needles.pairs("plain", float("nan"), 2048, 128) == 1
    assert needles.pairs("k3", 19, 2048, 128) == pytest.approx(19 * 128**2 / 2048**2)
    assert needles.pairs("oracle", 2, 2048, 128) == pytest.approx(2 / 256)
    assert needles.pairs("last-window", float("nan"), 2048, 128) == pytest.approx(1 / 256)
    assert needles.pairs("streaming", float("nan"), 2048, 128) == pytest.approx(1 / 8)
    assert needles.pairs("k3", 1, 128, 128) == 1


def test_the_caption_names_the_ranks():
    assert "by a key sentence: RoPE 0.50 and 0.50" in needles.caption_ranks(WORLD["parallel_ranks"])
    found = needles.shares(WORLD["parallel_ranks"], 3)
    assert (found["share"].groupby(found["length"]).mean() == 0.5).all() and len(found) == 4


def test_losses_are_told_from_the_training_length():
    spec = FIGURES["parallel_losses"]
    frame = WORLD[spec.metrics]
    growth = frame[(frame["length"] == 2048) & (frame["encoding"] == "rope")].groupby("method")["growth"].mean()
    assert f"as trained {growth['plain']:+.2f}" in spec.caption(frame) and "4 of 4 models know" in spec.caption(frame)


def test_biases_have_a_row_for_each_kind_of_attention():
    spec = TABLES["parallel_profiles"]
    built = spec.build(WORLD[spec.metrics])
    assert len(built) == 2 * len(parallel_profiles.KINDS)
    assert built.loc[0, "sink"].startswith("1.50 [") and (built["seeds"] == 2).all()


def test_changes_are_taken_within_seeds():
    frame = WORLD["parallel_regions"]
    rows, name = profiles.changes(frame)
    assert name == "rope" and set(rows["layers"]) == set(parallel_profiles.DEPTHS)
    one = rows[(rows["region"] == "sink") & (rows["layers"] == "early")]
    assert one["distance"].tolist() == pytest.approx([0.02, 0.02]) and one["middle"].tolist() == pytest.approx(
        [-0.05] * 2
    )
    assert "sink early +0.020" in FIGURES["parallel_regions"].caption(frame)


def test_seeds_without_an_outlier_are_left_out_and_without_any_nothing_is_drawn():
    frame, spec = WORLD["parallel_regions"].copy(), FIGURES["parallel_regions"]
    none = (frame["region"] == "sink") & ((frame["layers"] != "deep") | (frame["seed"] == 0))
    some = frame.assign(evicted=frame["evicted"].mask(none, 0.0))
    rows, _ = profiles.changes(some)
    assert rows[rows["region"] == "sink"][["layers", "seed"]].to_numpy().tolist() == [["deep", 1]]
    spec.draw(some)
    without = frame.assign(evicted=frame["evicted"].mask(frame["region"] == "sink", 0.0))
    spec.draw(without)
    assert "sink none to evict" in spec.caption(without)
    with pytest.raises(NotCompared, match="no model has an outlier"):
        spec.draw(frame.assign(evicted=0.0))
