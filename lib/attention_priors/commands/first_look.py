"""Train six encodings, two seeds each, and draw them beside the committed ones (`publish.first_look`)."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from .. import config, runtime, store
from ..publish.first_look import ALT, BUILD, committed, draw, page, planned, trained_here
from ..publish.pipeline.progress import span
from ..publish.report import Report, csv, picture
from ..store.layout import Layout
from . import arguments as commands


@commands.refusing(stopped="the same command goes on")
def main(arguments: list[str] | None = None) -> int:
    """0 when the figure is there, 2 for bad input, 130 when it was stopped."""
    parser = commands.Arguments("first_look", __doc__, "profile", "results")
    parser.add_argument("--into", type=Path, default=BUILD, help="folder (default: build/first-look)")
    chosen = parser.parse_args(arguments)
    mpl.use("agg")
    os.environ["ATTENTION_PRIORS_HEADLESS"] = "1"  # lines instead of bars, in every worker
    began = time.monotonic()
    profile = config.profile(chosen.profile)
    layout = Layout(chosen.results, profile.name)
    here = trained_here(profile, config.CACHE / "runs", layout)
    there = committed(Report(layout, "passkeys"), set(here["length"]))
    frame = pd.concat([each for each in (here, there) if len(each)], ignore_index=True)
    key = store.key([spec.key(runtime.device(profile.device).type) for spec in planned(profile)])
    store.write_text(chosen.into / "passkey.csv", csv(frame))
    picture(draw(frame), chosen.into / "passkey", ALT, "A first look", key)
    store.write_text(chosen.into / "passkey.md", page(frame))
    runtime.say(f"[first-look] {span(time.monotonic() - began)}")
    print(" ".join(os.path.relpath(chosen.into / f"passkey.{kind}") for kind in ("pdf", "png", "md")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
