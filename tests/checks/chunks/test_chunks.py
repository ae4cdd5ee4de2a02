"""Reading in chunks: the lead that decides and the one beside it, and regions without an outlier."""

import numpy as np

from attention_priors.checks import CHECKS
from checks.committed import frame, frames


def test_the_lead_at_64_times_stands_beside_and_does_not_decide():
    rows = frame("parallel_by_length")
    ours, far = rows["method"] == "k3", rows["length"] == 64 * rows["trained"]
    rows = rows.assign(correct=np.where(ours | (rows["length"] <= rows["trained"]), rows["samples"], 0))
    lost = rows.assign(correct=rows["correct"].mask(ours & far, 0))
    for given, beside in ((rows, "at 64 times it is 1.00 ["), (lost, "at 64 times it is 0.00 ["), (rows[~far], "")):
        (found,) = CHECKS["PC-MINI"].judged({"parallel_by_length": given})
        assert found.outcome == "agrees" and found.estimate.value == 1.0
        assert beside in found.note and ("64 times" in found.note) == bool(beside)


def test_the_note_names_the_rival_that_the_interval_reaches_lowest_in():
    """YaRN's lead has the larger mean here, and seeds that disagree."""
    rows = frame("parallel_by_length")
    rows = rows[rows["method"].isin(["k3", "yarn", "rerope"])]
    within, mine = rows["length"] <= rows["trained"], rows["method"] == "k3"
    hits = rows["samples"].where(within | mine, 0)
    hits = hits.mask(~within & (rows["method"] == "rerope"), 10)
    hits = hits.mask(~within & (rows["method"] == "yarn") & (rows["seed"] == 0), 25)
    (found,) = CHECKS["PC-MINI"].judged({"parallel_by_length": rows.assign(correct=hits)})
    assert round(found.estimate.value, 9) == 0.8 and "decided by the lead over Leaky ReRoPE" in found.note
    assert "reaches lowest in the lead over YaRN: 0.83 [" in found.note and found.estimate.interval(0.95)[0] < 0.5


def test_where_there_is_no_outlier_nothing_is_decided():
    rows = frame("parallel_regions")
    sink = (rows["region"] == "sink") & (rows["layers"] == "early")
    assert sink.any()
    found = CHECKS["PC-CQ3ii"].judged({"parallel_regions": rows.assign(evicted=rows["evicted"].mask(sink, 0.0))})
    assert found[0].outcome == "undecided" and found[0].note == "no outlier there: seed 0, 1, 2"
    assert [each.note for each in found[1:]] == [
        each.note for each in CHECKS["PC-CQ3ii"].judged(frames("PC-CQ3ii"))[1:]
    ]
