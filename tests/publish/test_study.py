"""What a notebook gets from its study: pictures with captions, claims that open, evidence, and errors in order."""

import base64
import html
import io
import re
import types

import ipywidgets as widgets
import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from PIL import Image

from attention_priors import checks, claims, config, store
from attention_priors.checks import derived
from attention_priors.claims.finding import Finding, exactly
from attention_priors.claims.law import claim
from attention_priors.commands import claim as claim_command
from attention_priors.figures import FigureSpec, NotCompared
from attention_priors.figures.spec import rivals
from attention_priors.publish import study as study_module
from attention_priors.publish.report import NotMeasured
from attention_priors.publish.study import Study
from attention_priors.runtime import NotHere
from attention_priors.store import manifest
from attention_priors.store.layout import THEORY, Layout


@pytest.fixture
def study(tmp_path):
    return Study("smoke", "generalised_gaussian", tmp_path, seed=0, device="cpu")


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setattr(InteractiveShell.instance(), "display_pub", CapturingDisplayPublisher())
    return InteractiveShell.instance().display_pub


def test_a_figure_is_simulated_written_and_shown_with_its_caption(study, published):
    picture = study.draw("prior_shapes")
    assert {path.name for path in (study.layout.theory / "figures").iterdir()} == {
        f"prior_shapes.{kind}" for kind in ("pdf", "png", "md")
    }
    assert manifest.problems(study.layout)[1] == []
    picture._ipython_display_()
    image, caption = published.outputs
    assert image["metadata"]["image/png"]["alt"] == image["data"]["text/plain"] == picture.alt
    assert 200 < image["metadata"]["image/png"]["width"] < 800 and len(image["data"]["image/png"]) > 1000
    assert caption["data"]["text/markdown"] == f"{picture.caption}\n\n*Notes.* {picture.notes}"
    assert "notebook generalised_gaussian, key " in picture.notes and "rofile" not in picture.caption + picture.notes
    assert list(study.frames) == ["prior_shapes"]


def test_rows_are_simulated_once_and_their_key_is_that_of_seed_and_size(study, monkeypatch):
    study.draw("prior_shapes")
    key = study._report.read("prior_shapes")[1]["key"]
    monkeypatch.setattr(Study, "_write", lambda *_, **__: pytest.fail("written twice"))
    study.draw("prior_shapes")
    monkeypatch.undo()
    keys = [key]
    for other in (
        Study("smoke", "generalised_gaussian", study.layout.results, seed=1),
        Study("cpu", "generalised_gaussian", study.layout.results),
    ):
        other.draw("prior_shapes")
        keys.append(other._report.read("prior_shapes")[1]["key"])
    assert len(set(keys)) == 3


def test_a_claim_is_a_line_that_opens_and_is_decided_once(study, monkeypatch):
    shown = study.claim("BAM-E3", "BAM-T4")
    page, text = shown._repr_html_(), repr(shown)
    assert page.count("<details><summary>") == page.count("</table>") == 2
    assert re.search(r"<summary>BAM-T4: \d of \d statements? holds? \(", page)
    assert text.startswith("BAM-E3: ") and "\n\nBAM-T4: " in text and "<" not in text.splitlines()[0]
    monkeypatch.setattr(checks.CHECKS, "rows", {})
    assert repr(study.claim("BAM-E3", "BAM-T4")) == text


def test_an_appendix_shows_the_statement_and_the_source_of_the_check(study):
    shown = Study("smoke", "audit_parallelcomp", study.layout.results).claim("PC-E5", "PC-C7")
    page = shown._repr_html_()
    assert page.count("<blockquote>") == page.count("<pre>") == 2 and page.count("</table>") == 2
    for name in ("PC-E5", "PC-C7"):
        path, _, source = checks.CHECKS.source(name)
        assert f"{path.name}</summary>" in page and html.escape(source) in page
        assert html.escape(claims.find(name).statement) in page
    derived = Study("smoke", "audit_parallelcomp", study.layout.results).claim("PC-SK")._repr_html_()
    assert "<blockquote>" in derived and "<pre>" not in derived  # its source is the cell


def test_the_ledger_s_part_has_the_figures_that_were_drawn_as_evidence(study):
    study.draw("prior_tails")
    table = study.verdicts()
    found = claims.read(study.layout.part("generalised_gaussian"))
    assert set(table.index) == found.keys() == set(checks.belonging("generalised_gaussian"))
    assert found["BAM-L3"].evidence == ["figures/prior_tails.png"] and found["BAM-E14"].evidence == []
    assert {verdict.profile for verdict in found.values()} == {THEORY}
    assert set(study.practice().index) <= found.keys() and study.practice()["in practice"].all()


def test_a_pretrained_model_speaks_of_other_notebooks_claims_without_deciding_them(tmp_path, monkeypatch):
    study = Study("smoke", "pretrained_model", tmp_path)
    monkeypatch.setattr(study, "_left_out", lambda metric: "no pretrained model: install one")
    assert repr(study.also("PE-NTK-E")).startswith("PE-NTK-E: no pretrained model: install one (not run)")
    study.verdicts()
    path = study.layout.part("pretrained_model")
    also = claims.read(path, what="also")
    assert also.keys() == checks.ALSO.keys() and claims.read(path).keys().isdisjoint(also)
    assert {each.opposite for each in also.values()} == {"no pretrained model: install one"}


def invented(metrics, estimate):
    """An experiment and an empirical claim on it."""
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    made = types.SimpleNamespace(
        name="invented",
        frames=metrics,
        metrics=(*metrics, "twice"),
        needs=(),
        exact=(metrics[0],),
        derive={},
        measured=lambda *_: {name: frame for name in metrics},
        derived=lambda frames: {"twice": frames["one"] * 2},
        key=lambda *_: "k",
        recipe=lambda _: "some",
        runs=lambda *_: {},
        answers=None,
    )
    return made, claim("BAM-D8", Finding("x is large", estimate, ">", 0, metrics=("one",)), recipe="some")


@pytest.fixture
def measuring(tmp_path, monkeypatch):
    """(study, what its check was asked)."""
    asked = []

    def estimate(frames):
        asked.append(frames["one"]["x"].sum())
        return exactly(asked[-1])

    experiment, check = invented(("one", "two"), estimate)
    monkeypatch.setattr("attention_priors.publish.study.EXPERIMENTS", {"invented": experiment})
    monkeypatch.setattr("attention_priors.publish.study.checks.CHECKS", {"BAM-D8": check})
    monkeypatch.setattr("attention_priors.publish.study.checks.belonging", lambda _: {"BAM-D8": check})
    return Study("smoke", "needles", tmp_path), asked


def test_an_experiment_writes_its_metrics_and_an_empirical_claim_reads_them(measuring):
    study, asked = measuring
    frames = study.measure("invented")
    assert list(frames) == ["one", "two", "twice"] and list(frames["twice"]["x"]) == [2.0, 4.0]
    recipes = {name: store.read_json(study.layout.own / "metrics" / f"{name}.json")["recipe"] for name in frames}
    assert recipes == {"one": "exact", "two": "some", "twice": "some"}
    study.claim("BAM-D8")
    study.verdicts()
    assert asked == [3.0], "decided once"
    assert claims.read(study.layout.part("needles"))["BAM-D8"].evidence == ["metrics/one.csv"]


def test_a_finding_is_a_sentence_with_its_number_and_the_profile(measuring):
    study, _ = measuring
    study.measure("invented")
    said = study.says("one", lambda frame: ["It is large.", "", "mean", frame["x"].mean(), 1.0, 2.0, "", ""])
    assert said.data == "**Found in profile `smoke`.** It is large. *Mean: 1.50 [1.00, 2.00].*"
    bare = study.says("one", lambda _: ["Nobody passed.", "", "mean", *[float("nan")] * 3, "", ""])
    assert bare.data == "**Found in profile `smoke`.** Nobody passed."


def test_what_this_machine_lacks_leaves_its_claims_not_run(measuring, monkeypatch):
    study, asked = measuring

    def lacks(*_):
        raise NotHere("no pretrained model: install one")

    monkeypatch.setattr(study_module.EXPERIMENTS["invented"], "measured", lacks)
    assert repr(study.measure("invented")) == "no pretrained model: install one"
    assert "BAM-D8: no pretrained model: install one (not run)" in repr(study.claim("BAM-D8"))
    study.verdicts()
    verdict = claims.read(study.layout.part("needles"))["BAM-D8"]
    assert (verdict.verdict, verdict.opposite, asked) == ("not run", "no pretrained model: install one", [])


def test_a_claim_before_its_measurement_is_refused(measuring):
    study, _ = measuring
    with pytest.raises(NotMeasured, match=r"no metrics/one\.csv for profile smoke; run the notebook needles"):
        study.claim("BAM-D8")
    Study("smoke", "needles", study.layout.results).measure("invented")
    study.claim("BAM-D8")  # of an earlier run
    with pytest.raises(ValueError, match="BAM-D8 was decided before 'one' was measured; move its cell below"):
        study.measure("invented")


def test_what_a_profile_leaves_out_is_said_in_place_of_results(measuring, monkeypatch):
    study, asked = measuring
    study.profile = study.profile.model_copy(update={"without": ("invented",)})
    reason = "profile smoke leaves invented to larger profiles"
    frames = study.measure("invented")
    assert not frames and repr(frames) == reason and not study.layout.own.exists()
    with pytest.raises(KeyError, match=f"one: {reason}"):
        frames["one"]
    spec = types.SimpleNamespace(metrics="twice", rows=None)
    monkeypatch.setattr("attention_priors.publish.study.FIGURES", {"pair": spec})
    monkeypatch.setattr("attention_priors.publish.study.TABLES", {"pair": spec})
    assert repr(study.draw("pair")) == f"No figure pair: {reason}"
    assert study.table("pair")._repr_markdown_() == f"*No table pair: {reason}.*"
    assert repr(study.says("one", lambda _: pytest.fail("read"))) == f"No finding: {reason}"
    assert f"BAM-D8: {reason} (not run)" in repr(study.claim("BAM-D8"))
    study.verdicts()
    verdict = claims.read(study.layout.part("needles"))["BAM-D8"]
    assert (verdict.verdict, verdict.outcome, verdict.opposite, asked) == ("not run", None, reason, [])


def test_a_figure_of_one_arm_is_not_drawn(measuring, monkeypatch):
    study, _ = measuring
    study.measure("invented")

    def draw(frame):
        return rivals(frame.assign(encoding="bam"), "encoding", "pair")

    spec = FigureSpec("one", draw, str, "Nothing.", "needles")
    monkeypatch.setattr("attention_priors.publish.study.FIGURES", {"pair": spec})
    monkeypatch.setattr("attention_priors.publish.report.FIGURES", {"pair": spec})
    assert repr(study.draw("pair")) == "pair: bam stands alone under this profile; a larger one has its rivals"
    assert not (study.layout.own / "figures").exists()
    frame = pd.DataFrame({"encoding": ["bam", "untrained"]})
    with pytest.raises(NotCompared, match="bam stands alone"):
        rivals(frame, "encoding", "pair", but=["untrained"])
    with pytest.raises(NotCompared, match="pair: nothing of it is trained under this profile"):
        rivals(frame[:0], "encoding", "pair")
    assert rivals(frame, "encoding", "pair") is frame


def test_what_is_explored_is_drawn_in_a_few_settings_where_nobody_watches(study, published):
    def curve(x, thick, width):
        """A curve.

        The rest is not said.
        """
        drawn.append((x, thick))
        return plt.figure(figsize=(width, 1.0))

    sliders = {"x": widgets.FloatSlider(2.0), "thick": widgets.Checkbox(False, description="bold")}
    for width, shape in ((2.0, (600, 150)), (6.0, (900, 300))):  # beside one another; below where a page is too narrow
        drawn = []
        picture = study.explore(curve, settings=[{"x": 0.5, "thick": True}], **sliders, width=widgets.fixed(width))
        assert drawn == [(2.0, False), (0.5, True)]
        assert picture.alt == "A curve. Here with x = 2, bold = no; x = 0.5, bold = yes."
        picture._ipython_display_()
        image = published.outputs[-1]
        with Image.open(io.BytesIO(base64.b64decode(image["data"]["image/png"]))) as png:
            assert png.size == shape
        assert image["metadata"]["image/png"] == {"width": round(shape[0] * 96 / 150), "alt": picture.alt}
    assert study.explore(lambda x: None, x=widgets.FloatSlider(2.0)) is None  # it prints


def test_another_notebook_s_metric_is_read_or_asked_for(study):
    with pytest.raises(NotMeasured, match="run the notebook passkeys"):
        study.read("passkey_by_length", notebook="passkeys")
    assert isinstance(study.layout, Layout)


def test_what_a_cell_draws_for_itself_is_the_same_in_every_execution(tmp_path):
    def drawn(seed):
        Study("smoke", "needles", tmp_path, seed=seed, device="cpu")
        return torch.rand(3).tolist()

    assert drawn(0) == drawn(0) != drawn(1)


def test_a_cell_that_decides_two_claims_shows_both(tmp_path):
    notebook, both = "spectra_and_sinks", "on_slopes & study.claim("
    [cell] = [text for text in derived.sources(derived.path(notebook)) if both in text]
    names = {"study": Study("smoke", notebook, tmp_path, seed=0, device="cpu")}
    exec(cell.replace(both, f"shown = {both}"), names)
    assert [line.partition(":")[0] for line, _ in names["shown"].claims] == ["GOAT-C-3", "GOAT-C-12"]
    assert names["shown"]._repr_html_().count("<details>") == 2


SIGNS = {  # notebook, claim: a sign of its law cell that somebody changes, and what is found then
    ("attention_is_inference", "BAM-T1"): ("power=-1.0):", "power=1.0):", "contradicted"),
    ("generalised_gaussian", "BAM-L3"): (
        "softmax(-slope * np.arange(keys))",
        "softmax(slope * np.arange(keys))",
        "contradicted",
    ),
    ("spectra_and_sinks", "GOAT-EQ18"): ("(i - j)) - 0.75", "(i - j)) + 0.75", "verified with correction"),
}


@pytest.mark.parametrize(("notebook", "identifier"), SIGNS)
def test_a_changed_sign_changes_the_verdict_in_view_and_in_the_ledger(notebook, identifier, tmp_path, capsys):
    old, new, verdict = SIGNS[notebook, identifier]
    [cell] = [text for text in derived.sources(derived.path(notebook)) if f'study.claim("{identifier}"' in text]
    assert cell.count(old) == 1
    seen = []
    for text in (cell, cell.replace(old, new)):
        study = Study("smoke", notebook, tmp_path, seed=0, device="cpu")
        names = {"study": study}
        exec(text.replace("study.claim(", "shown = study.claim("), names)
        check = study._checks[identifier]
        claims.write_part(tmp_path, "smoke", notebook, [check.verdict(study.layout.label(notebook))])
        claims.merge(tmp_path, "smoke")
        assert claim_command.main(["--id", identifier, "--profile", "smoke", "--results", str(tmp_path)]) == 0
        said = re.search(r"^verdict: +(.*)$", capsys.readouterr().out, re.MULTILINE)[1]
        seen.append((repr(names["shown"]).splitlines()[0], said))
    (before, was), (after, now) = seen
    assert was == claims.read(config.ROOT / "results" / "cpu" / "claims.json")[identifier].verdict
    assert before != after and "fails" in repr(names["shown"]) and was != now == verdict
    assert check.unanswered, "what is committed must not be so"
