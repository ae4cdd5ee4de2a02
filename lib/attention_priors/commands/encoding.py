"""Check, train and compare a reader's own encoding: laws, three seeds, prompts up to 64 T, a report card.

python -m attention_priors.commands.encoding my_encoding.py
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import matplotlib as mpl

from .. import config, runtime, store
from ..publish.own import card as cards
from ..publish.own import drawing, laws, runs
from ..publish.own.source import read
from ..publish.pipeline.progress import span
from ..publish.report import Report, csv, picture
from ..store.layout import Layout
from . import arguments as commands

BUILD = config.ROOT / "build" / "encodings"


def write(card: cards.Card, folder: Path) -> Path:
    """The files of a report card; the report last."""
    name = card.name
    for file, frame in (("summary", cards.table(card)), ("accuracy", card.counts)):
        store.write_text(folder / f"{file}.csv", csv(frame))
    caption, alt = drawing.caption(card.all_counts, name), drawing.alt(name)
    picture(drawing.draw(card.all_counts, name), folder / "figure", alt, name, card.own.digest[:16])
    report = folder / "report.md"
    store.write_text(report, cards.markdown(card, "figure.png", caption, alt))
    return report


@commands.refusing(stopped="the same command goes on")
def main(arguments: list[str] | None = None) -> int:
    """0 when there is a card, 2 for bad input, 130 when it was stopped."""
    parser = commands.Arguments("encoding", __doc__, "profile", "results")
    parser.add_argument("file", type=Path, help="Python file that adds one encoding to ENCODINGS")
    parser.add_argument("--ssmax", action="store_true", help="its form with scalable softmax")
    parser.add_argument("--into", type=Path, default=BUILD, help="folder of report cards (default: build/encodings)")
    chosen = parser.parse_args(arguments)
    mpl.use("agg")
    os.environ["ATTENTION_PRIORS_HEADLESS"] = "1"  # lines instead of bars, in every worker
    began = time.time()
    profile = config.profile(chosen.profile)
    own = read(chosen.file)
    name = own.scaled if chosen.ssmax else own.name
    runtime.configure(profile.threads)
    held = laws.hold(own, profile, max(runs.samples(profile)))
    seconds, price = laws.price(own, name, profile)
    runtime.say(
        f"[encoding] {name}: {len(held)} laws hold; a training step takes {price:.1f} times NoPE's. "
        f"Now {len(profile.seeds)} seeds; Ctrl-C loses nothing"
    )
    folder = config.CACHE / "runs"
    expected = seconds * profile.passkey.recipe.steps / 2  # most have learned by then
    found = runs.asked(own, name, profile, folder, expected)
    others = cards.committed(Report(Layout(chosen.results, profile.name), "passkeys"))
    sibling = own.name if chosen.ssmax else own.scaled
    where = runtime.device(profile.device).type
    keys = {runs.spec_of(own, sibling, profile, seed).key(where) for seed in profile.seeds}
    others = cards.beside(others, chosen.into / sibling / "accuracy.csv", keys)
    card = cards.Card(own, name, profile, held, found, others, price)
    path = write(card, chosen.into / name)
    runtime.say(f"[encoding] {name}: {span(time.time() - began)}")
    print(os.path.relpath(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
