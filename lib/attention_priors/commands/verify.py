"""Recompute and compare with what is committed (`publish.verify`)."""

from __future__ import annotations

import sys

from .. import config, runtime
from ..publish import verify
from ..store.layout import Layout
from . import arguments as commands


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when everything agrees, 1 when something differs, 2 for bad input."""
    parser = commands.Arguments("verify", __doc__, "profile", "results")
    parser.add_argument("--full", action="store_true", help="train every run again")
    parser.add_argument("--no-training", action="store_true", help="leave the training runs out")
    chosen = parser.parse_args(arguments)
    outcome = verify.Outcome()
    try:
        profile = config.profile(chosen.profile)
        layout = Layout(chosen.results, profile.name)
        if not (layout.own / "claims.json").exists():
            raise ValueError(f"no claims.json of profile {profile.name} in {chosen.results}; run make reproduce first")
        verify.verify_files(layout, outcome)
        verify.verify_claims(layout, outcome)
        verify.verify_metrics(layout, outcome)
        verify.verify_answers(layout, profile, outcome)
        verify.verify_drawings(layout, outcome)
        if not chosen.no_training:
            verify.verify_corpus(profile, outcome)
            verify.verify_runs(layout, profile, chosen.full, outcome)
    except commands.REFUSED as error:
        if not outcome.differ:
            raise
        outcome.differ.append(f"stopped   {runtime.said(error)}")
    except (KeyError, TypeError, AttributeError) as error:
        if not outcome.differ:
            raise
        outcome.differ.append(f"stopped   a damaged file lacks {error}")
    for line in outcome.notes:
        print(f"note      {line}")
    for line in outcome.differ:
        print(f"DIFFERS   {line}")
    print("recomputed: " + ", ".join(f"{number} {kind}" for kind, number in outcome.compared.items()))
    print("all agree" if not outcome.differ else f"{len(outcome.differ)} differ")
    return 1 if outcome.differ else 0


if __name__ == "__main__":
    sys.exit(main())
