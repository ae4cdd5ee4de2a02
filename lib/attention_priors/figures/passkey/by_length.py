"""Accuracy by length of six encodings, all with SSMax (BAM, Fig. 2)."""

from attention_priors.figures.methods import OURS, UNTRAINED, label
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import FigureSpec, Frame
from attention_priors.figures.words import DRAWN


def caption(frame: Frame) -> str:
    rows = lines.shared(frame)
    last, trained = lines.last_and_trained(rows)
    others = rows[(rows["length"] == last) & ~rows["encoding"].isin([OURS, UNTRAINED])]
    best = others.groupby("encoding")["accuracy"].mean()
    said = f"Share of passkeys retrieved by models trained on {trained} tokens, all with SSMax."
    found = (
        f"BAM SSMax retrieves {lines.share(rows, last)}, the best other encoding ({label(best.idxmax())}) "
        f"{best.max():.2f}"
    )
    return lines.caption(rows, said, found)


FIGURE = FigureSpec(
    "passkey_by_length",
    lambda frame: lines.draw(lines.shared(frame)),
    caption,
    notebook=lines.NOTEBOOK,
    paper="BAM, Fig. 2",
    claims=("BAM-C6", "BAM-C7", "BAM-C13", "BAM-F2"),
    columns=lines.COLUMNS,
    alt=f"{lines.ALT}on a log axis for six encodings with SSMax, each {DRAWN}; chance and an untrained model lie at "
    "zero.",
)
