"""The figures and tables of copies and sinks on made-up worlds: with all rows, and with one."""

import pytest

from attention_priors.figures import FIGURES, TABLES, NotCompared
from attention_priors.figures.goat import copying
from checks.goat import copies


def world():
    return copies.copying() | copies.sinks()


def test_models_that_missed_their_gate_are_not_drawn():
    spec = FIGURES["sinks_keys"]
    frame = world()[spec.metrics]
    with pytest.raises(NotCompared, match="no model passed its gate under this profile"):
        spec.draw(frame.assign(passed=False))


def test_the_panels_add_up():
    frame = world()["copying_map"]
    found = copying.parts(frame[frame["head"] == 0])
    assert found["prior"][7, :8].sum() == pytest.approx(1) and found["prior"][7, 0] > 0.99
    assert abs(found["sum"][5, :6].mean()) < 1e-12 and found["sum"][5, 0] > 0 > found["sum"][5, 1]
    said = FIGURES["copying_parts"].caption(frame)
    assert "head 1 puts 0.99" in said and "on the first key" in said and "on lag 1" in said


def test_tables_count_who_copied_and_who_sinks():
    built = TABLES["copying"].build(world()["copying_judged"]).set_index("encoding")
    assert built["copied"].tolist() == [5, 0] and built["nats above the best"].iloc[0] == "0.017 [0.015, 0.019]"
    rows = TABLES["sinks"].build(world()["sinks_heads"]).set_index(["task", "encoding"])
    assert rows.loc[("text", "RoPE"), "heads that sink"] == "12 of 12"
    assert rows.loc[("text", "Goat composite"), "in heads that sink"] == ""
