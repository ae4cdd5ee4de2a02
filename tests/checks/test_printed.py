"""The transcribed tables: shape, spelling and a seal on every file."""

import hashlib

import pandas as pd
import pytest

from attention_priors.checks import printed
from attention_priors.positions.encodings import ENCODINGS

# rows, and the digest of the file: a table changes only together with this line, after comparison with its source
TABLES = {
    "bam_table1": (24, "3766d3a54609b942"),
    "bam_table2": (20, "ea8854844b922ea5"),
    "bam_table3": (162, "ea007943688e8819"),
    "bam_table4": (176, "91e748c8c7744bfc"),
    "bam_table5": (66, "52983158a95cfcf8"),
    "bam_table6": (40, "e9538e888c9f7a71"),
    "infinitebench_table1": (42, "d36bc2bfa4d8f397"),
    "parallelcomp_table1": (357, "2b6436f931e291cc"),
    "parallelcomp_table2": (196, "e905797dfe4ad3e2"),
    "parallelcomp_table3": (84, "4e8b1d39d64236f0"),
    "parallelcomp_table4": (68, "0d31cf82ced56564"),
    "parallelcomp_table5": (28, "e0ce56f6b28c3468"),
    "parallelcomp_table6": (105, "dabe985388e84fc9"),
    "parallelcomp_table7": (48, "0aa62257b7680444"),
    "parallelcomp_table8": (323, "36acb55612051f56"),
    "parallelcomp_table9": (18, "19a658b6b8ab6c89"),
    "parallelcomp_table10": (15, "abf288ded98d89cd"),
    "parallelcomp_table11": (51, "6e0d16d304ecc6f6"),
    "parallelcomp_table12": (153, "ec1b3cbc3af5ba9e"),
}


def seal(name):
    return hashlib.sha256((printed.FOLDER / f"{name}.csv").read_bytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_as_compared_with_its_source(name):
    paper, number = name.split("_table")
    frame = printed.table(paper, int(number))
    assert (len(frame), seal(name)) == TABLES[name] and frame["section"].ne("").all()


def test_the_facts_on_the_listings_are_as_compared_with_the_survey():
    frame = pd.read_csv(printed.FOLDER / "survey_listings.csv", dtype=str, keep_default_na=False)
    assert not frame.duplicated(["listing", "fact"]).any() and frame.ne("").all(axis=None)
    assert seal("survey_listings") == "75de07f32b409156"


@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_every_encoding_is_one_of_ours(number):
    frame = printed.table("bam", number)
    labels = {name: ENCODINGS[name].label for name in frame["encoding"]}
    assert all(frame["label"].str.removesuffix(" (ours)") == frame["encoding"].map(labels))


def test_beyond_keeps_the_order_of_the_paper():
    frame = printed.table("bam", 5)
    assert list(dict.fromkeys(printed.beyond(frame, "409K").length)) == ["460K", "512K"]
    assert len(printed.beyond(frame, None)) == len(frame)
    with pytest.raises(ValueError, match=r"513K.*512K"):
        printed.beyond(frame, "513K")


def test_an_unknown_table_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"bam_table7.*bam_table6"):
        printed.table("bam", 7)
