"""Pack a genome from a copy of its file: python -m attention_priors.commands.genome hg38 FILE."""

from __future__ import annotations

import sys
from pathlib import Path

from ..corpora.genome import assemble, path_of, pin, read_fasta, read_parquet
from . import arguments as commands


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when the packed genome is written, 2 for bad input."""
    parser = commands.Arguments("genome", __doc__)
    parser.add_argument("name", help="a row of data/corpora.yaml under genomes, such as hg38")
    parser.add_argument("file", help="a FASTA file, plain or gzipped, or a parquet file with columns ID and Sequence")
    chosen = parser.parse_args(arguments)
    path = path_of(chosen.name)
    if not Path(chosen.file).is_file():
        raise ValueError(f"no file {chosen.file!r}; give the FASTA or parquet file of the genome")
    read = read_parquet if chosen.file.endswith(".parquet") else read_fasta
    genome = assemble(chosen.name, read(chosen.file))
    expected = pin(chosen.name).sha256
    if expected not in (None, genome.sha256):
        raise ValueError(
            f"{chosen.file} has bases with the sum {genome.sha256[:16]}, but genome {chosen.name!r} "
            f"has {expected[:16]}; give its own file"
        )
    genome.write(path)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
