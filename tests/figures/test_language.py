"""Figures and tables of language models from frames made up here."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from attention_priors.experiments import documents, languages, misleading
from attention_priors.figures import FIGURES, TABLES, NotCompared
from attention_priors.figures.language import by_length
from attention_priors.figures.methods import look, named

TRAINED, LENGTHS = 128, (128, 256, 512, 1024, 2048, 4096, 8192)
NAMES = named(False) + named(True) + ["kerple-log"]
GROWING = {"sinusoidal": 0.4, "nope": 0.3, "rope": 0.1, "bam": 0.05}


def losses(seeds=3, domains=("docstrings", "source")):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "domain": domain,
            "encoding": name,
            "times": 1,
            "seed": seed,
            "passed": name != "nope",
            "length": length,
            "document": document,
            "run": "r",
            "loss": 4
            + 0.5 * (domain == "source")
            + 0.02 * rng.standard_normal()
            + GROWING.get(name.removesuffix("-ssmax"), 0) * np.log2(length / TRAINED) / (2 if name != base else 1),
        }
        for domain in domains
        for name in NAMES
        for seed in range(seeds)
        for length in LENGTHS
        for document in range(2)
        for base in [name.removesuffix("-ssmax")]
    )


def perplexities(**changes):
    frame = documents.growth(losses(**changes), TRAINED)
    known = frame["domain"] == "docstrings"
    return frame.assign(trained=TRAINED, scored=64, trained_on=known, unigram=np.where(known, 344.0, 519.0))


def table_frame(**changes):
    return languages.perplexities(losses(**changes)).assign(trained=TRAINED, scored=64)


def order(seeds=3):
    rows = [
        {
            "encoding": name,
            "times": 1,
            "seed": seed,
            "swap": 0.05 if name == "nope" else 1.0 + 0.1 * seed,
            "bag": 2.0 + 0.1 * seed,
        }
        for name in NAMES
        for seed in range(seeds)
    ]
    rows += [{"encoding": "nope", "times": 3, "seed": 0, "swap": 0.4, "bag": 1.7}]
    return pd.DataFrame(rows).assign(passed=lambda f: f["swap"] >= 0.3, pairs=1024, gate=0.3, trained=TRAINED)


def retrieval(seeds=3, names=NAMES):
    """What falls in perplexity rises in retrieval; NoPE misses its gate."""
    rows = []
    for rank, name in enumerate(names):
        for multiple in (2.0, 4.0, 16.0, 64.0):
            loss, share = 1.4 + 0.1 * rank, max(0.0, 1 - 0.05 * rank * np.log2(multiple) / 2)
            rows.append(
                [
                    name,
                    multiple,
                    seeds,
                    np.exp(loss),
                    np.exp(loss - 0.1),
                    np.exp(loss + 0.1),
                    share,
                    max(0.0, share - 0.2),
                    min(1.0, share + 0.2),
                    seeds,
                    50,
                    name != "nope",
                    True,
                    name != "nope",
                ]
            )
    return pd.DataFrame(rows, columns=misleading.COLUMNS)


FRAMES = {
    "language_order": order,
    "perplexity_and_retrieval": retrieval,
    "language_by_length": perplexities,
}


def test_panels_and_lines():
    figure = FIGURES["language_by_length"].draw(perplexities())
    assert [ax.get_title() for ax in figure.axes] == [
        f"{kind},\n{form} SSMax" for form in ("without", "with") for kind in by_length.KINDS.values()
    ]
    for ax, ssmax in zip(figure.axes, (False, False, True, True), strict=True):
        shown = {line.get_label() for line in ax.get_lines() if not line.get_label().startswith("_")}
        plain = {look(name)["label"] for name in ("kerple-log", *named(False)) if name != "nope"} | {"NoPE †"}
        models = {look(name)["label"] for name in named(True)} if ssmax else plain
        assert shown == models | {"Token frequencies"}
        written = {text.get_text() for text in ax.texts}
        assert shown <= written  # every line is named at its end
    for ax, kind in zip(figure.axes[:2], ("docstrings", "source"), strict=True):
        (line,) = [line for line in ax.get_lines() if line.get_label() == "ALiBi"]
        frame = perplexities()
        own = frame[(frame["domain"] == kind) & (frame["encoding"] == "alibi") & (frame["length"] == 128)]
        assert line.get_ydata()[0] == pytest.approx(np.exp(own["loss"].mean()))
    plt.close("all")


def test_captions_count_what_stands_behind():
    caption = by_length.caption(perplexities())
    for words in (
        "trained on 128 tokens",
        "last 64 tokens",
        "2 held-out documents",
        "8,192 tokens (64×)",
        "alone 344)",
    ):
        assert words in caption
    assert "other text (source, token frequencies alone 519)" in caption


def test_one_encoding_with_ssmax_stands_among_the_others_and_one_alone_is_not_drawn():
    frame = perplexities()
    few = frame[frame["encoding"].isin(["rope", "alibi", "bam", "bam-ssmax"])]
    axes = by_length.draw(few).axes  # four encodings and the token frequencies
    assert [len({line.get_label() for line in ax.get_lines() if line.get_label()[0] != "_"}) for ax in axes] == [5, 5]
    for name in ("language_by_length", "language_order", "perplexity_and_retrieval"):
        alone = FRAMES[name]().query("encoding == 'bam'")
        with pytest.raises(NotCompared, match="bam stands alone under this profile"):
            FIGURES[name].draw(alone)
    plt.close("all")


def test_a_second_model_has_a_line_a_row_and_a_name_of_its_own():
    frame = perplexities()
    more = frame[frame["encoding"] == "nope"].assign(times=3, passed=True)
    both = pd.concat([frame, more])
    labels = {line.get_label() for line in by_length.draw(both).axes[0].get_lines()}
    assert {"NoPE †", "NoPE, 3 × tokens"} <= labels
    assert "†: no seed passed" in by_length.caption(both) and "NoPE, 3 × tokens ×" in by_length.caption(both)
    table = (
        TABLES["language_table2"]
        .build(
            languages.perplexities(
                pd.concat([losses(), losses().query("encoding == 'nope'").assign(times=3, passed=True)])
            ).assign(trained=TRAINED, scored=64)
        )
        .set_index("encoding")["that know order"]
    )
    assert table["NoPE"] == 0 and table["NoPE, 3 × tokens"] == 3
    plt.close("all")


def test_the_gate_is_drawn_and_who_misses_it_is_named():
    caption = FIGURES["language_order"].caption(order())
    assert "the gate of 0.3 nats. Missed by NoPE (3 of 3 seeds)" in caption
    assert "All runs pass" in FIGURES["language_order"].caption(order().query("encoding != 'nope'"))
    labels = [text.get_text() for text in FIGURES["language_order"].draw(order()).axes[0].get_yticklabels()]
    assert labels[:2] == ["NoPE", "NoPE, 3 × tokens"]  # from below, the least sense of order first
    plt.close("all")


def test_correlations_leave_out_who_missed_a_gate():
    caption = FIGURES["perplexity_and_retrieval"].caption(retrieval())
    assert f"-1.00 [-1.00, -1.00], p = 0.0001 ({len(NAMES) - 1} encodings)" in caption
    assert "Open: a gate was missed (NoPE), not in ρ." in caption and "4×: " in caption and "64×: " in caption
    few = FIGURES["perplexity_and_retrieval"].caption(retrieval(names=["rope", "alibi", "bam"]))
    assert "undefined (3 encodings)" in few and "Open" not in few


NARROW = [(low, by_length.FLAT * low) for low in np.geomspace(10, 99, 40)]


@pytest.mark.parametrize(("low", "high"), [*NARROW, (60, 360), (3, 20000), (40, 400)])
def test_the_perplexity_axis_has_several_ticks_and_not_too_many(low, high):
    ticks = by_length.ticks_between(low, high)
    assert 2 <= len(ticks) <= 9 and ticks == sorted(ticks) and low <= ticks[0] and ticks[-1] <= high


def test_intervals_fit_into_the_axes_or_the_caption_names_them():
    frame = perplexities()
    rows = by_length.part(frame, True)
    low, high = by_length.span(rows)
    ends = by_length.intervals(rows)
    assert low < ends["low"].min() and ends["high"].max() < high and "cut at" not in by_length.caption(frame)
    # Two seeds far apart: an interval that would flatten all curves.
    alibi = rows["encoding"] == "alibi"
    wild = rows[rows["seed"] < 2].assign(loss=lambda one: one["loss"] + 0.3 * one["seed"] * alibi)
    assert by_length.span(wild)[0] > by_length.intervals(wild)["low"].min()
    assert "(cut at the frame: ALiBi)" in by_length.caption(wild)


def test_a_corpus_with_one_domain_is_drawn_once():
    frame = perplexities(domains=("text",)).assign(trained_on=True)
    assert by_length.part(frame, False).empty
    figure = FIGURES["language_by_length"].draw(frame)
    assert {ax.get_title() for ax in figure.axes} == {
        "text as in training,\nwithout SSMax",
        "text as in training,\nwith SSMax",
    }
    assert "other text" not in by_length.caption(frame)
    plt.close("all")


def test_table_2_has_the_rows_of_the_paper():
    table = TABLES["language_table2"].build(table_frame())
    assert {"Sinusoidal", "ALiBi", "NoPE", "BAM", "RoPE", "BAM SSMax", "KERPLE log"} <= set(table["encoding"])
    assert "RoPE Local" not in set(table["encoding"]), "which is RoPE at that length"
    found = languages.perplexities(losses()).query("domain == 'source' and encoding == 'bam' and length == 128").iloc[0]
    expected = f"{found['perplexity']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    assert table.set_index("encoding").loc["BAM", "source, perplexity"] == expected
    assert "last 64 tokens" in TABLES["language_table2"].caption(table_frame())


def test_one_seed_has_no_interval():
    table = TABLES["language_table2"].build(table_frame(seeds=1))
    assert "[" not in "".join(table["docstrings, perplexity"])


@pytest.mark.parametrize(
    ("same", "words"), [(True, "the pinned text"), (False, "not the pinned"), (None, "nothing is")]
)
def test_the_corpus_says_whether_it_is_the_pinned_one(same, words):
    frame = pd.DataFrame(
        [
            {
                "split": "train",
                "domain": "docstrings",
                "documents": 7,
                "tokens": 1234567,
                "over 128": 6,
                "corpus": "c",
                "sha256": "f" * 64,
                "same": same,
                "vocabulary": 1024,
            }
        ]
    )
    assert words in TABLES["language_corpus"].caption(frame)
    built = TABLES["language_corpus"].build(frame)
    assert built.iloc[0]["tokens"] == "1,234,567" and "longer than 128 tokens" in built.columns
