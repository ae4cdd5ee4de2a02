"""Figures of the ledger on made-up verdicts: every claim counted once, every bound on its own side."""

from attention_priors import claims
from attention_priors.figures import verdicts


def ledger(**changes):
    """The register of today in which nothing has run, with `changes`: columns by claim."""
    frame = claims.frame(claims.gather("nowhere", "cpu")).set_index("id", drop=False).astype(object)
    for name, values in changes.items():
        for column, value in values.items():
            frame.at[name.replace("_", "-"), column] = value
    return frame.reset_index(drop=True)


def test_the_bars_have_every_claim_once_and_all_verdicts_a_look(legible):
    frame = ledger(BAM_D1={"verdict": "verified"}, BAM_D2={"verdict": "contradicted"})
    figure = verdicts.draw_counts(frame)
    legible(figure)
    assert sum(bar.get_width() for bar in figure.axes[0].patches) == len(frame)
    assert set(verdicts.LOOKS) == set(claims.VERDICTS)
    assert "1 verified" in verdicts.caption_counts(frame) and "1 contradicted" in verdicts.caption_counts(frame)
