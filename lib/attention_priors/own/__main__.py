"""Check, train and compare a reader's own encoding: laws, three seeds, prompts up to 64 T, a report card.

python -m attention_priors.own my_encoding.py
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import matplotlib as mpl

from .. import commands, config, runtime, store
from ..figures.tables import FLOATS
from ..layout import Layout
from ..pipeline.progress import span
from ..report import Report, picture
from . import card as cards
from . import drawing, laws, runs
from .source import read

MINUTES = 5
SECONDS = 90.0  # of a seed on one of two cores, of most encodings
BUILD = config.ROOT / "build" / "encodings"


def write(card: cards.Card, folder: Path) -> Path:
    """The files of a report card; the report last."""
    name = card.name
    caption = alt = ""
    if card.done:
        counts, priors = card.all_counts, card.curves
        for file, frame in (("summary", cards.table(card)), ("accuracy", card.counts), ("prior", priors)):
            text = frame.to_csv(index=False, float_format=FLOATS, lineterminator="\n")
            store.write_text(folder / f"{file}.csv", text)
        caption, alt = drawing.caption(counts, priors, name), drawing.alt(name, priors)
        picture(drawing.draw(counts, priors, name), folder / "figure", alt, name, card.own.digest[:16])
    report = folder / "report.md"
    store.write_text(report, cards.markdown(card, "figure.png", caption, alt))
    return report


def main(arguments: list[str] | None = None) -> int:
    """0 when the card is complete, 1 when time was up before, 2 for bad input."""
    parser = commands.Arguments("own", __doc__.splitlines()[0])
    parser.sizes()
    parser.places()
    parser.add_argument("file", type=Path, help="Python file that adds one encoding to ENCODINGS")
    parser.add_argument("--ssmax", action="store_true", help="its form with scalable softmax")
    parser.add_argument("--minutes", type=commands.count, default=MINUTES, help=f"at most (default: {MINUTES})")
    parser.add_argument("--into", type=Path, default=BUILD, help="folder of report cards (default: build/encodings)")
    chosen = parser.parse_args(arguments)
    mpl.use("agg")
    os.environ["ATTENTION_PRIORS_HEADLESS"] = "1"  # lines instead of bars, in every worker
    began = time.time()
    try:
        profile = config.profile(chosen.profile)
        own = read(chosen.file)
        name = own.scaled if chosen.ssmax else own.name
        runtime.configure(profile.threads)
        held = laws.hold(own, profile, max(runs.samples(profile)))
        price = laws.price(own, name, profile, chosen.minutes * runs.TRAINING)
        runtime.say(f"[encoding] {name}: {len(held)} laws hold; a training step takes {price:.1f} times NoPE's. "
                    f"Now {len(profile.seeds)} seeds, at most {chosen.minutes} min; Ctrl-C loses nothing")  # fmt: skip
        folder = config.CACHE / "runs"
        until = began + 60 * chosen.minutes
        found = runs.asked(own, name, profile, folder, until, chosen.minutes, SECONDS * max(1.0, price / 1.5))
        others = cards.committed(Report(Layout(chosen.results, profile.name), "passkeys"))
        sibling = own.name if chosen.ssmax else own.scaled
        where = runtime.device(profile.device).type
        keys = {runs.spec_of(own, sibling, profile, seed).key(where) for seed in profile.seeds}
        others = cards.beside(others, chosen.into / sibling / "accuracy.csv", keys)
        card = cards.Card(own, name, profile, held, found, others, price)
        path = write(card, chosen.into / name)
    except commands.REFUSED as error:
        return commands.refused(error)
    runtime.say(f"[encoding] {name}: {span(time.time() - began)}")
    if found.waiting:
        print(
            f"unfinished after {chosen.minutes} min: {'; '.join(found.waiting)}; the same command goes on",
            file=sys.stderr,
        )
    print(os.path.relpath(path))
    return 1 if found.waiting else 0


if __name__ == "__main__":
    sys.exit(main())
