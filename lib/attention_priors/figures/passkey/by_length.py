"""Accuracy by length of six encodings, with SSMax (BAM, Fig. 2) and without (BAM, Fig. 13)."""

from collections.abc import Callable

from attention_priors.figures.methods import OURS, UNTRAINED, label
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import FigureSpec, Frame
from attention_priors.figures.words import DRAWN


def _caption(frame: Frame) -> str:
    rows = lines.shared(frame, True)
    last, trained = lines.last_and_trained(rows)
    others = rows[(rows["length"] == last) & ~rows["encoding"].isin([OURS, UNTRAINED])]
    best = others.groupby("encoding")["accuracy"].mean()
    said = f"Share of passkeys retrieved by models trained on {trained} tokens, all with SSMax."
    found = (
        f"BAM SSMax retrieves {lines.share(rows, last)}, the best other encoding ({label(best.idxmax())}) "
        f"{best.max():.2f}"
    )
    return lines.caption(rows, said, found)


def _caption_without(frame: Frame) -> str:
    rows = lines.shared(frame, False)
    last, trained = lines.last_and_trained(rows)
    found = f"BAM retrieves {lines.share(rows, last, 'bam')}, with SSMax {lines.share(lines.plain(frame), last)}"
    return lines.caption(rows, f"The same task without SSMax, trained on {trained} tokens.", found)


def _figure(ssmax: bool, caption: Callable[[Frame], str], paper: str, claims: tuple[str, ...]) -> FigureSpec:
    return FigureSpec(
        "passkey_by_length", lambda frame: lines.draw(lines.shared(frame, ssmax)), caption, notebook=lines.NOTEBOOK,
        paper=paper, claims=claims, columns=lines.COLUMNS,
        alt=f"{lines.ALT}on a log axis for six encodings {'with' if ssmax else 'without'} SSMax, each {DRAWN}; chance "
        "and an untrained model lie at zero.",
    )  # fmt: skip


FIGURE = _figure(True, _caption, "BAM, Fig. 2", ("BAM-C6", "BAM-C7", "BAM-C13", "BAM-F2"))
WITHOUT = _figure(False, _caption_without, "BAM, Fig. 13", ("BAM-C7", "BAM-C13", "BAM-F13"))
