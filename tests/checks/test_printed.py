"""The transcribed tables: shape, spelling and a seal on every file."""

import hashlib

import pandas as pd
import pytest

from attention_priors.checks import printed
from attention_priors.positions.encodings import ENCODINGS

# rows, and the digest of the file: a table changes only together with this line, after comparison with the paper
TABLES = {
    1: (24, "3766d3a54609b942"),
    2: (20, "ea8854844b922ea5"),
    3: (162, "ea007943688e8819"),
    4: (176, "91e748c8c7744bfc"),
    5: (66, "52983158a95cfcf8"),
    6: (40, "e9538e888c9f7a71"),
}


@pytest.mark.parametrize("number", TABLES)
def test_a_table_is_as_compared_with_the_paper(number):
    rows, digest = TABLES[number]
    assert len(printed.table("bam", number)) == rows
    assert hashlib.sha256((printed.FOLDER / f"bam_table{number}.csv").read_bytes()).hexdigest()[:16] == digest


def test_the_facts_on_the_listings_are_as_compared_with_the_survey():
    path = printed.FOLDER / "survey_listings.csv"
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert not frame.duplicated(["listing", "fact"]).any() and frame.ne("").all(axis=None)
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:16] == "75de07f32b409156"


@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_every_encoding_is_one_of_ours(number):
    frame = printed.table("bam", number)
    assert set(frame.encoding) <= set(ENCODINGS)
    assert all(
        label.removesuffix(" (ours)") == ENCODINGS[name].label
        for name, label in zip(frame.encoding, frame.label, strict=True)
    )


@pytest.mark.parametrize("number", [3, 4, 5])
def test_every_row_of_a_table_has_all_lengths(number):
    frame = printed.table("bam", number)
    keys = [name for name in ("task", "encoding", "model") if name in frame]
    orders = {tuple(group.length) for _, group in frame.groupby(keys)}
    assert len(orders) == 1
    assert frame.accuracy.between(0, 1).all()


@pytest.mark.parametrize("number", [3, 4])
def test_accuracies_are_hits_in_fifty(number):
    frame = printed.table("bam", number)
    frame = frame[frame.task != "MultiQuery"]  # four answers a sample
    assert ((frame.accuracy * 50 - (frame.accuracy * 50).round()).abs() < 1e-9).all()


def test_every_row_names_its_section():
    for number in TABLES:
        assert printed.table("bam", number).section.str.startswith("App. ").all()


def test_beyond_keeps_the_order_of_the_paper():
    frame = printed.table("bam", 5)
    assert list(dict.fromkeys(printed.beyond(frame, "409K").length)) == ["460K", "512K"]
    assert len(printed.beyond(frame, None)) == len(frame)
    with pytest.raises(ValueError, match=r"513K.*512K"):
        printed.beyond(frame, "513K")


def test_an_unknown_table_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"bam_table7.*bam_table6"):
        printed.table("bam", 7)
