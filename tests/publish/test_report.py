"""Metrics that notice a changed number, and figures and tables that are the same bytes whenever they are drawn."""

import io
import os
import subprocess
import sys
import types

import matplotlib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from attention_priors import claims, config, store
from attention_priors.commands import figures
from attention_priors.figures import FIGURES, TABLES, FigureSpec, TableSpec, style, tables
from attention_priors.publish import report
from attention_priors.publish.report import NotMeasured, Report
from attention_priors.store import manifest
from attention_priors.store.layout import THEORY, Layout

FRAME = pd.DataFrame({"encoding": ["bam-ssmax"] * 3, "length": [128, 256, 512], "accuracy": [1.0, 2 / 3, 0.1 + 0.2]})
KEY = "0123456789abcdef"


def draw(frame):
    figure, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(frame["length"], frame["accuracy"], color=style.ORANGE, label="BAM")
    style.interval_band(ax, frame["length"], frame["accuracy"] - 0.1, frame["accuracy"] + 0.1, style.ORANGE)
    style.length_axis(ax, frame["length"], trained=128)
    ax.set(xlabel="context length (tokens)", ylabel=r"accuracy $\pi_{ij}$")
    style.direct_labels(ax)
    return figure


def caption(frame):
    return f"Accuracy at {len(frame)} lengths."


def figure(metrics, **more):
    about = {"alt": "A line falls.", "notebook": "passkeys", "paper": "BAM, Fig. 2"}
    return FigureSpec(metrics, caption=caption, **{"draw": draw} | about | more)


@pytest.fixture
def registered(monkeypatch):
    trial = types.ModuleType("attention_priors.figures.trial")
    monkeypatch.setitem(sys.modules, trial.__name__, trial)
    for rows, name, spec in (
        (FIGURES, "try_lengths", figure("try")),
        (FIGURES, "try_absent", figure("absent")),
        (FIGURES, "try_other", figure("try", draw=lambda frame: frame["reach"])),
        (
            TABLES,
            "try_table",
            TableSpec("try", lambda frame: frame[["length", "accuracy"]], caption, "passkeys", "BAM, Tab. 2"),
        ),
    ):
        setattr(trial, name.upper(), spec)
        if name != "try_other":
            monkeypatch.setitem(rows.rows, name, f"trial:{name.upper()}")
    return trial


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path, "smoke")


@pytest.fixture
def written(registered, layout):
    made = Report(layout, "passkeys")
    made.metrics("try", FRAME, KEY, "passkey-small")
    return made


def main(layout, *more):
    return figures.main(["--profile", layout.profile, "--results", str(layout.results), *more])


def test_metrics_come_back_to_ten_digits_with_their_origin(written):
    frame, origin = written.read("try")
    pd.testing.assert_frame_equal(frame, FRAME, rtol=1e-9, check_dtype=False)
    assert (origin["key"], origin["recipe"], origin["profile"]) == (KEY, "passkey-small", "smoke")
    text = (written.layout.own / "metrics" / "try.csv").read_text()
    assert text.splitlines()[2] == "bam-ssmax,256,0.6666666667" and text.splitlines()[3].endswith(",0.3")


def test_a_changed_number_is_noticed_everywhere(written):
    path = written.layout.own / "metrics" / "try.csv"
    path.write_text(path.read_text().replace("0.6666666667", "0.7666666667"))
    for use in (written.read, lambda _: written.figure("try_lengths"), lambda _: written.table("try_table")):
        with pytest.raises(ValueError, match=r"try.csv differs from what was measured"):
            use("try")
    assert main(written.layout) == 2


def test_many_numbers_are_compressed_read_back_and_stand_once(written, monkeypatch):
    small, large = (written.layout.own / "metrics" / f"try.csv{end}" for end in ("", ".xz"))
    before, text = written.read("try")[0], small.read_text()
    monkeypatch.setattr(report, "LARGE", len(text) - 1)
    written.metrics("try", FRAME, KEY, "passkey-small")
    assert not small.exists() and store.read_text(large) == text and written.place("try") == large
    pd.testing.assert_frame_equal(written.read("try")[0], before)
    data = large.read_bytes()
    written.metrics("try", FRAME, KEY, "passkey-small")
    assert large.read_bytes() == data
    large.write_bytes(data[:-9])
    with pytest.raises(store.DamagedFile, match=r"try\.csv\.xz is damaged .*restore it"):
        written.read("try")
    monkeypatch.undo()
    written.metrics("try", FRAME, KEY, "passkey-small")
    assert small.exists() and not large.exists()


def test_line_ends_of_another_system_are_no_change(written):
    path = written.layout.own / "metrics" / "try.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(written.read("try")[0]) == 3


def test_half_written_metrics_are_no_metrics(written):
    (written.layout.own / "metrics" / "try.json").unlink()
    with pytest.raises(NotMeasured, match="run the notebook passkeys"):
        written.figure("try_lengths")
    with pytest.raises(ValueError, match="are empty"):
        written.metrics("try", FRAME.head(0), KEY)


def test_a_figure_carries_its_key_profile_and_recipe(written):
    written.figure("try_lengths")
    folder = written.layout.own / "figures"
    pdf = (folder / "try_lengths.pdf").read_bytes()
    assert KEY.encode() in pdf and b"passkey-small" in pdf and b"CreationDate" not in pdf
    with Image.open(folder / "try_lengths.png") as image:
        assert image.info["Key"] == KEY and "profile smoke" in image.info["Title"]
        assert image.width == int(style.SINGLE * report.SCREEN) and image.mode == "P"
    text = (folder / "try_lengths.md").read_text()
    for part in ("Accuracy at 3 lengths.", "BAM, Fig. 2", "Profile smoke, recipe passkey-small", "A line falls.", KEY):
        assert part in text
    assert "**Caption.** Accuracy at 3 lengths. Profile smoke, recipe passkey-small.\n\n**Notes.** To compare" in text
    assert text.count("@misc{") == 2 and "Bianchessi" in text and "CC BY 4.0" in text
    assert r"Figure \texttt{results/smoke/figures/try\_lengths.pdf}, version " in text and "year = {20" in text
    assert "\\includegraphics[width=3.25in]{results/smoke/figures/try_lengths.pdf}" in text


def test_a_figure_is_also_an_svg_of_outlines_with_its_key(written, tmp_path):
    for folder in ("a", "b"):
        assert main(written.layout, "--svg", str(tmp_path / folder)) == 0
    first, again = ((tmp_path / folder / "try_lengths.svg").read_bytes() for folder in ("a", "b"))
    assert first == again and KEY.encode() in first and b"CC BY 4.0" in first and b"font-family" not in first


SCRIPT = """
import hashlib, io, sys
sys.path.insert(0, sys.argv[1])
import test_report as t
from attention_priors.publish import report
made = report._pdf(t.draw(t.FRAME), "A line falls.", Title="x", Key="k"), report.screen(t.draw(t.FRAME), Key="k")
print([hashlib.sha256(each).hexdigest() for each in made])
"""


def test_a_colour_of_few_pixels_stays_beside_a_map():
    figure, ax = style.figure(style.SINGLE, 2.0)
    ax.pcolormesh(np.linspace(0, 1, 64 * 64).reshape(64, 64), cmap="cividis")
    ax.plot(70, 32, "D", color=style.PINK, markersize=3, clip_on=False)
    with Image.open(io.BytesIO(report.screen(figure, Title="Map", Key=KEY))) as image:
        colours = np.array([colour for _, colour in image.convert("RGB").getcolors(1 << 16)])
    pink = np.array(matplotlib.colors.to_rgb(style.PINK)) * 255
    assert np.abs(colours - pink).max(axis=1).min() <= 10


@pytest.mark.slow
def test_a_figure_is_the_same_bytes_in_two_processes():
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "MPLBACKEND": "agg", "TZ": f"UTC-{seed}"}
        command = [sys.executable, "-c", SCRIPT, str(config.ROOT / "tests" / "publish")]
        seen.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(seen) == 1 and len(seen.pop().split()) == 2


def test_a_table_has_three_forms_from_one_frame(written):
    built = written.table("try_table")
    folder = written.layout.own / "tables"
    assert list(built.columns) == ["length", "accuracy"]
    assert (folder / "try_table.csv").read_text() == built.to_csv(index=False, float_format="%.10g")
    assert "| 256 | 0.6667 |" in (folder / "try_table.md").read_text()
    tex = (folder / "try_table.tex").read_text()
    assert r"\toprule" in tex and r"256 & 0.6667 \\" in tex and "Profile smoke, recipe passkey-small" in tex


def test_latex_and_markdown_keep_formulas_and_escape_the_rest():
    frame = pd.DataFrame({"what_is": ["50 % of $|x|_1$ & a|b ±1", r"$\|x\|_2$"], "n": [1.5, float("nan")]})
    forms = tables.render("t", frame, "C.", "F.")
    assert r"50 \% of $|x|_1$ \& a\textbar{}b $\pm$1 & 1.5 \\" in forms["tex"]
    assert r"what\_is" in forms["tex"] and r"\label{tab:t}" in forms["tex"]
    assert r"| 50 % of $\vert x\vert _1$ & a\|b ±1 | 1.5 |" in forms["md"]
    assert r"| $\Vert x\Vert _2$ |  |" in forms["md"]


def test_redraw_draws_what_has_metrics_and_says_what_has_not(written, capsys):
    assert main(written.layout) == 0
    shown = capsys.readouterr().out
    assert "skipped  figure try_absent: no metrics/absent.csv for profile smoke; run the notebook passkeys" in shown
    assert "skipped  table errata: no claims.json" in shown
    drawn = ["figures/try_lengths.pdf", "tables/try_table.tex"]
    assert set(drawn) <= manifest.read(written.layout.own).keys()
    assert all((written.layout.own / path).exists() for path in drawn)


def test_a_changed_table_differs_and_stays_as_it_is(written):
    main(written.layout)
    assert report.differences(written.layout)[1] == []
    path = written.layout.own / "tables" / "try_table.csv"
    path.write_text(changed := path.read_text().replace("0.6666666667", "0.7666666667"))
    assert report.differences(written.layout)[1] == [path.relative_to(written.layout.results)]
    assert path.read_text() == changed


def test_results_that_are_missing_or_empty_are_one_line(registered, layout, capsys):
    for place in (layout, Layout(layout.results / "missing", "smoke")):
        assert main(place) == 2
        assert "no metrics of profile smoke" in capsys.readouterr().err.strip("\n")


def test_metrics_that_were_deleted_are_named(written, capsys):
    other = written.metrics("another", FRAME, KEY)
    assert len(other) == 3
    manifest.add(written.layout, sorted((written.layout.own / "metrics").iterdir()))
    main(written.layout)
    written.place("another").unlink()
    capsys.readouterr()
    assert main(written.layout) == 1
    assert "lost     smoke/metrics/another.csv is gone; restore it, or run its notebook" in capsys.readouterr().out
    for path in (written.layout.own / "metrics").iterdir():
        path.unlink()
    assert main(written.layout) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_frame_with_other_columns_is_refused(written, monkeypatch):
    monkeypatch.setitem(FIGURES.rows, "try_other", "trial:TRY_OTHER")
    with pytest.raises(ValueError, match="have no column reach; run notebook passkeys again"):
        written.figure("try_other")


def test_theory_lies_once_and_names_no_profile(registered, tmp_path):
    registered.TRY_LENGTHS = figure("try", rows=lambda size, seed: FRAME)
    text = {}
    for profile in ("cpu", "full"):
        made = Report(Layout(tmp_path, profile), "passkeys")
        made.metrics("try", FRAME, KEY, theory=True)
        made.figure("try_lengths")
        made.table("try_table")
        assert made.read("try")[1]["profile"] == THEORY
        text[profile] = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert text["cpu"] == text["full"]
    assert {path.relative_to(tmp_path).parts[0] for path in text["cpu"]} == {"theory"}
    for name in ("figures/try_lengths.md", "tables/try_table.md", "tables/try_table.tex"):
        assert "rofile" not in (tmp_path / "theory" / name).read_text()
    with Image.open(tmp_path / "theory" / "figures" / "try_lengths.png") as image:
        assert image.info["Title"] == "try_lengths (recipe exact)"
    written, _ = report.redraw(Layout(tmp_path, "cpu"))
    assert {path.as_posix() for path in written} >= {"theory/figures/try_lengths.pdf", "theory/tables/try_table.md"}


def test_verdicts_reach_the_ledger_and_its_tables(layout):
    wrong = {"inputs": {"beta": -1}, "claimed": 0.0, "actual": 0.5}
    verdict = claims.Verdict(
        id="BAM-T4",
        verdict="contradicted",
        measured=0.5,
        relation="==",
        expected_value=0.0,
        profile=THEORY,
        recipe="exact",
        counterexample=wrong,
        corrected="It depends on $|x|$.",
        severity="breaks a result",
    )
    claims.write_part(layout.results, "smoke", claims.find("BAM-T4").notebook, [verdict])
    claims.merge(layout.results, "smoke")
    table = Report(layout, "verdicts").table("errata")
    assert list(table["claim"]) == ["BAM-T4"] and table["counterexample"][0] == "beta = -1: claimed 0, actual 0.5"
    text = (layout.own / "tables" / "errata.md").read_text()
    assert "Statements found wanting: 1 break a result, 0 need a repair, 0 are editorial" in text
    assert store.key((layout.own / "claims.json").read_text()) in text


def test_sums_are_those_of_sha256sum_and_only_what_was_written_is_taken_over(layout):
    paths = [layout.own / "a", layout.theory / "b", layout.models / "c" / "d"]
    for path in paths:
        store.write_text(path, path.name)
    manifest.add(layout, paths)
    assert {path: len(manifest.read(path)) for path in (layout.own, layout.theory, layout.models)} == {
        layout.own: 1,
        layout.theory: 1,
        layout.models: 1,
    }
    for folder in (layout.own, layout.theory, layout.models):
        subprocess.run(["sha256sum", "--check", "--quiet", manifest.NAME], cwd=folder, check=True)
    assert manifest.problems(layout) == (3, [])
    paths[0].write_text("other")
    paths[2].unlink()
    store.write_text(layout.runs / "new.json", "{}")
    store.write_text(layout.own / "e", "e")
    manifest.add(layout, [layout.own / "e"])
    looked, wrong = manifest.problems(layout)
    assert looked == 5 and [line.partition(":")[0] for line in wrong] == [
        "smoke/runs/new.json",
        "smoke/models/c/d",
        "smoke/a",
    ]
    (layout.own / manifest.NAME).write_text("no sum\n")
    with pytest.raises(ValueError, match=r"sha256\.txt, line 1 is no sum and path"):
        manifest.problems(layout)


def test_a_shipped_file_is_held_against_its_sum(layout):
    path = layout.models / "passkey" / "0.safetensors"
    store.write_text(path, "weights")
    with pytest.raises(ValueError, match="does not have the sum"):
        manifest.expect(path)
    manifest.add(layout, [path])
    manifest.expect(path)
    store.write_text(path, "weighty")
    with pytest.raises(ValueError, match="does not have the sum"):
        manifest.expect(path)
