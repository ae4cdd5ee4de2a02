"""`python -m attention_priors.commands.site`: build the site from committed results into build/site/html."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from attention_priors import config
from attention_priors.commands import arguments as commands
from attention_priors.publish.site import audit
from attention_priors.publish.site.build import build


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0: built and sound. 1: built, with something that is wrong. 2: bad input."""
    parser = commands.Arguments("site", __doc__, "profile", "results")
    parser.add_argument(
        "--into", type=Path, default=config.ROOT / "build" / "site", help="folder (default: build/site)"
    )
    chosen = parser.parse_args(arguments)
    start = time.monotonic()
    built = build(chosen.results, chosen.into, config.profile(chosen.profile).name)
    wrong = [*built.warnings, *audit.problems(built.html)]
    for line in wrong:
        print(f"wrong    {line}", file=sys.stderr)
    print(f"{built.pages} pages, {time.monotonic() - start:.0f} s; open {built.html / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
