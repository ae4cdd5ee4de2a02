"""Pack a corpus of the hub: python -m attention_priors.commands.corpus hub:fineweb+wikipedia --vocabulary 8192."""

from __future__ import annotations

import sys

from .. import config
from ..corpora.hub import fetch, is_remote
from . import arguments as commands


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when the packed file is there, 2 for bad input."""
    parser = commands.Arguments("corpus", __doc__)
    parser.add_argument("corpus", help="such as hub:fineweb+wikipedia")
    parser.add_argument(
        "--vocabulary", type=commands.whole(2, 2**20), required=True, help="that of the profile's language section"
    )
    chosen = parser.parse_args(arguments)
    if not is_remote(chosen.corpus):
        raise ValueError(f"{chosen.corpus!r} is no corpus of the hub; name one, such as hub:fineweb+wikipedia")
    print(fetch(chosen.corpus, chosen.vocabulary, config.CACHE / "corpora"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
