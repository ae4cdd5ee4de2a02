"""Figures and tables of reading in chunks: what they show where a head, an outlier or a partner is missing."""

import pandas as pd
import pytest

from attention_priors.experiments import parallel_profiles
from attention_priors.figures import FIGURES, TABLES, NotCompared
from attention_priors.figures.parallel import flow, needles, profiles
from attention_priors.parallel.methods import METHODS
from figures.committed import frame


def test_the_flow_is_a_pass_of_the_algorithm(small):
    found = pd.DataFrame(flow.rows(small(), 0))
    text = found[found["kind"] == "text"]
    lowest = text.groupby("chunk")["information"].first().nsmallest(flow.KEEP).index
    assert set(text[text["stays"] == 1]["chunk"]) == set(lowest)
    assert text.loc[text["stays"] == 0, "kept"].eq(0).all() and len(text) == flow.TEXT
    assert text[text["stays"] == 1].groupby("chunk")["kept"].sum().round(6).eq(10).all()


def test_a_map_has_a_panel_for_each_method_and_a_dash_where_none_was_asked():
    there = frame("parallel_prompts")
    figure = needles.draw(there[(there["method"] != "snapkv") | (there["length"] < there["length"].max())])
    titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
    assert titles == [each.label for each in METHODS.values()]
    dashed = [any(text.get_text() == "–" for text in ax.texts) for ax in figure.axes[: len(titles)]]
    assert dashed == [name == "snapkv" for name in METHODS]


def test_heads_that_only_look_near_are_drawn(whole):
    spec, near = FIGURES["parallel_shapes"], frame("parallel_shapes")
    near.loc[near["encoding"] == "alibi", ["first", "middle", "last"]] = (0.0, 0.0, 20.0)
    figure = whole(spec, near)
    low, high = figure.axes[0].get_xlim(), figure.axes[0].get_ylim()
    for ax, name in zip(figure.axes[:2], ("rope", "alibi"), strict=True):
        drawn = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
        points = [point for line in drawn for point in zip(*line.get_data(), strict=True)]
        assert len(points) == sum(near["encoding"] == name)
        assert all(low[0] < x < low[1] and high[0] < y < high[1] for x, y in points)
    none = near.assign(first=1.0, middle=1.0, last=1.0)
    assert "below 0.01 of the uniform share" in spec.caption(near) and "below 0.01" not in spec.caption(none)


def test_fair_tables_hold_memory_equal():
    there = frame("parallel_over_seeds")
    keys = there["method"].map({"k1": 108.0, "last-window": 108.0, "halves": 110.0, "snapkv": 162.0, "k3-half": 161.0})
    apart = 10.0 ** there["method"].map(list(METHODS).index)
    built = TABLES["parallel_equal_keys"].build(there.assign(entries=keys.fillna(apart)))
    assert set(built["way to read"]) == {
        METHODS[name].label for name in ("k1", "last-window", "halves", "snapkv", "k3-half")
    }
    assert built["from so many keys on"].to_list() == ["108", "", "", "161", ""]
    with pytest.raises(NotCompared, match="as many keys"):
        TABLES["parallel_equal_keys"].build(there.assign(entries=apart))


def test_changes_are_taken_within_seeds():
    there = frame("parallel_regions")
    rows, name = profiles.changes(there)
    assert name == "rope" and set(rows["layers"]) == set(parallel_profiles.DEPTHS)
    one = rows[(rows["region"] == "recency") & (rows["layers"] == "early") & (rows["seed"] == 1)].iloc[0]
    own = there[(there["encoding"] == "rope") & (there["seed"] == 1)].set_index(["region", "layers"])
    for column in ("distance", "middle"):
        without, base = own.loc[("recency", "early"), column], own.loc[("none", "none"), column]
        assert one[column] == pytest.approx(without.mean() - base.mean())


def test_seeds_without_an_outlier_are_left_out_and_without_any_nothing_is_drawn():
    there, spec = frame("parallel_regions"), FIGURES["parallel_regions"]
    none = (there["region"] == "recency") & ((there["layers"] != "deep") | (there["seed"] == 0))
    rows, _ = profiles.changes(there.assign(evicted=there["evicted"].mask(none, 0.0)))
    left = rows[rows["region"] == "recency"]
    assert set(left["layers"]) == {"deep"} and 0 not in set(left["seed"]) and len(left)
    without = there.assign(evicted=there["evicted"].mask(there["region"] == "sink", 0.0))
    spec.draw(without)
    assert "sink none to evict" in spec.caption(without)
    with pytest.raises(NotCompared, match="no model has an outlier"):
        spec.draw(there.assign(evicted=0.0))
