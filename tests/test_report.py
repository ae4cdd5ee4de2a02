"""Metrics that notice a changed number, and figures and tables that are the same bytes whenever they are drawn."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from PIL import Image

from attention_priors import claims, config, report, store
from attention_priors.figures import FIGURES, TABLES, FigureSpec, TableSpec, style, tables
from attention_priors.report import NotMeasured, Report

FRAME = pd.DataFrame({"encoding": ["bam-ssmax"] * 3, "length": [128, 256, 512], "accuracy": [1.0, 2 / 3, 0.1 + 0.2]})
KEY = "0123456789abcdef"


def draw(frame):
    figure, ax = style.figure(style.SINGLE, 2.0)
    ax.plot(frame["length"], frame["accuracy"], **style.method_style("bam-ssmax"))
    style.interval_band(ax, frame["length"], frame["accuracy"] - 0.1, frame["accuracy"] + 0.1, encoding="bam-ssmax")
    style.length_axis(ax, frame["length"], trained=128)
    ax.set(xlabel="context length (tokens)", ylabel=r"accuracy $\pi_{ij}$")
    style.direct_labels(ax)
    return figure


def caption(frame):
    return f"Accuracy at {len(frame)} lengths."


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(
        FIGURES, "try_lengths", FigureSpec("try", draw, caption, "A line falls.", "BAM, Fig. 2", "10_x")
    )
    monkeypatch.setitem(FIGURES, "try_absent", FigureSpec("absent", draw, caption, "Nothing.", "", "10_x"))
    spec = TableSpec("try", lambda frame: frame[["length", "accuracy"]], caption, "BAM, Tab. 2", "10_x")
    monkeypatch.setitem(TABLES, "try_table", spec)


@pytest.fixture
def written(registered, tmp_path):
    made = Report(tmp_path, "smoke", "10_x", "passkey-small")
    made.metrics("try", FRAME, KEY)
    return made


def test_metrics_come_back_to_ten_digits_with_their_origin(written):
    frame, origin = written.read("try")
    pd.testing.assert_frame_equal(frame, FRAME, rtol=1e-9, check_dtype=False)
    assert (origin["key"], origin["recipe"], origin["profile"]) == (KEY, "passkey-small", "smoke")
    text = (written.folder / "metrics" / "try.csv").read_text()
    assert text.splitlines()[2] == "bam-ssmax,256,0.6666666667" and text.splitlines()[3].endswith(",0.3")


def test_a_recipe_can_be_given_with_the_numbers(written):
    written.metrics("try", FRAME, KEY, recipe="paper")
    assert written.read("try")[1]["recipe"] == "paper"


def test_a_changed_number_is_noticed_everywhere(written):
    path = written.folder / "metrics" / "try.csv"
    path.write_text(path.read_text().replace("0.6666666667", "0.7666666667"))
    for use in (written.read, lambda _: written.figure("try_lengths"), lambda _: written.table("try_table")):
        with pytest.raises(ValueError, match=r"try.csv differs from what was measured"):
            use("try")
    assert report.main(["--profile", "smoke", "--results", str(written.results)]) == 2


def test_line_ends_of_another_system_are_no_change(written):
    path = written.folder / "metrics" / "try.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(written.read("try")[0]) == 3


def test_half_written_metrics_are_no_metrics(written):
    (written.folder / "metrics" / "try.json").unlink()
    with pytest.raises(NotMeasured, match="run 10_x"):
        written.figure("try_lengths")
    with pytest.raises(ValueError, match="are empty"):
        written.metrics("try", FRAME.head(0), KEY)


def test_a_figure_carries_its_key_profile_and_recipe(written):
    written.figure("try_lengths")
    folder = written.folder / "figures"
    pdf = (folder / "try_lengths.pdf").read_bytes()
    assert KEY.encode() in pdf and b"passkey-small" in pdf and b"CreationDate" not in pdf
    with Image.open(folder / "try_lengths.png") as image:
        assert image.info["Key"] == KEY and "profile smoke" in image.info["Title"]
        assert image.width == round(style.SINGLE * 200)
    text = (folder / "try_lengths.md").read_text()
    for part in ("Accuracy at 3 lengths.", "BAM, Fig. 2", "Profile smoke, recipe passkey-small", "A line falls.", KEY):
        assert part in text
    assert text.count("@misc{") == 2 and "Bianchessi" in text


def test_a_figure_is_the_same_bytes_twice(written):
    files = [written.folder / "figures" / f"try_lengths.{kind}" for kind in ("pdf", "png", "md")]
    written.figure("try_lengths")
    first = [path.read_bytes() for path in files]
    written.figure("try_lengths")
    assert first == [path.read_bytes() for path in files]


SCRIPT = """
import hashlib, io, sys
sys.path.insert(0, sys.argv[1])
import test_report as t
from attention_priors import report
for kind, dates in (("pdf", {"CreationDate": None}), ("png", {"Software": None})):
    print(hashlib.sha256(report._image(t.draw(t.FRAME), kind, dates)).hexdigest())
"""


@pytest.mark.slow
def test_a_figure_is_the_same_bytes_in_two_processes():
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "MPLBACKEND": "agg", "TZ": f"UTC-{seed}"}
        command = [sys.executable, "-c", SCRIPT, str(config.ROOT / "tests")]
        seen.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(seen) == 1 and len(seen.pop().split()) == 2


def test_a_table_has_three_forms_from_one_frame(written):
    built = written.table("try_table")
    folder = written.folder / "tables"
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


def test_unknown_names_are_refused_with_the_nearest(written):
    with pytest.raises(ValueError, match="nearest: try_lengths"):
        written.figure("try_length")
    with pytest.raises(ValueError, match="nearest: try_table"):
        written.table("try_tables")


def test_redraw_draws_what_has_metrics_and_says_what_has_not(written, capsys):
    assert report.main(["--profile", "smoke", "--results", str(written.results)]) == 0
    shown = capsys.readouterr().out
    assert "skipped  figure try_absent: no metrics/absent.csv for profile smoke; run 10_x" in shown
    assert "skipped  table errata: no claims.json" in shown
    assert (written.folder / "figures" / "try_lengths.pdf").exists()
    assert (written.folder / "tables" / "try_table.tex").exists()


def test_check_sees_a_changed_table_and_changes_nothing(written, capsys):
    arguments = ["--profile", "smoke", "--results", str(written.results)]
    report.main(arguments)
    assert report.main([*arguments, "--check"]) == 0
    path = written.folder / "tables" / "try_table.csv"
    changed = path.read_text().replace("0.6666666667", "0.7666666667")
    path.write_text(changed)
    capsys.readouterr()
    assert report.main([*arguments, "--check"]) == 1
    assert "differs  tables/try_table.csv" in capsys.readouterr().out and path.read_text() == changed


def test_an_unknown_profile_is_one_line(capsys):
    assert report.main(["--profile", "cpuu"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_verdicts_reach_the_ledger_and_its_tables(tmp_path):
    claim = claims.find("BAM-T4")
    wrong = {"inputs": {"beta": -1}, "claimed": 0.0, "actual": 0.5}
    verdict = claims.Verdict(
        **claim.model_dump(), verdict="contradicted", measured=0.5, relation="==", expected_value=0.0, profile="smoke",
        recipe="exact", counterexample=wrong, corrected="It depends on $|x|$.",
    )  # fmt: skip
    made = Report(tmp_path, config.profile("smoke"), claim.notebook)
    shown = made.claims([verdict])
    assert list(shown["id"]) == ["BAM-T4"] and "tolerance" not in shown
    claims.merge(tmp_path, "smoke")
    table = Report(tmp_path, "smoke", "15_verdicts").table("errata")
    assert list(table["claim"]) == ["BAM-T4"] and table["counterexample"][0] == "beta = -1: claimed 0, actual 0.5"
    text = (tmp_path / "smoke" / "tables" / "errata.md").read_text()
    assert "1 contradicted and 0 verified with a correction" in text
    assert store.key((tmp_path / "smoke" / "claims.json").read_text()) in text


def test_every_figure_and_table_is_described():
    for name, spec in {**FIGURES, **TABLES}.items():
        assert name.replace("_", "").isalnum() and callable(spec.caption)
        assert (config.ROOT / "notebooks" / f"{spec.notebook}.ipynb").exists(), name
    assert all(len(spec.alt) > 40 for spec in FIGURES.values())
