"""The lines of a benchmark's files: from a folder, or from the hub at a pinned commit. Both have the same layout."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...corpora import hub


@dataclass(frozen=True)
class Pinned:
    """A repository of data sets at one commit; `obtained` says how the commit was established."""

    repository: str
    revision: str
    obtained: str


def lines(pinned: Pinned, file: str, folder: Path | None, archive: str | None = None) -> Iterator[tuple[str, Any]]:
    """What each line of a .jsonl file holds, with "name:number" of the line; empty lines are none.

    It lies in `folder` (None: a copy below .cache/hub/, else the hub): as `file`, as data/`file`, or so in `archive`.
    ValueError for what is not there or is no JSON.
    """
    with _opened(pinned, file, folder, archive) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                where = f"{file}:{number}"
                try:
                    yield where, json.loads(line)
                except ValueError:
                    raise ValueError(f"{where} is no JSON ({line.strip()[:30]!r}); copy the file again") from None


@contextmanager
def _opened(pinned: Pinned, file: str, folder: Path | None, archive: str | None) -> Iterator[io.TextIOBase]:
    path = _path(pinned, file, folder, archive)
    if path.suffix != ".zip":
        with open(path, encoding="utf-8") as stream:
            yield stream
        return
    try:
        with zipfile.ZipFile(path) as whole:
            inside = next((name for name in whole.namelist() if name in (file, f"data/{file}")), None)
            if inside is None:
                raise ValueError(f"{path} has no {file}; copy {path.name} of {pinned.repository} again")
            with whole.open(inside) as raw:
                yield io.TextIOWrapper(raw, encoding="utf-8")
    except zipfile.BadZipFile:
        raise ValueError(f"{path} is no zip archive, or was cut short; copy it again") from None


def _path(pinned: Pinned, file: str, folder: Path | None, archive: str | None) -> Path:
    copy = hub.MIRROR / pinned.repository
    place = folder or (copy if copy.is_dir() else None)
    if place is None:
        return _fetched(pinned, archive or file)
    names = [file, f"data/{file}", *([archive] if archive else [])]
    found = next((place / name for name in names if (place / name).is_file()), None)
    if found is None:
        raise ValueError(f"no {' or '.join(names)} in {place}; give the folder of a copy of {pinned.repository}")
    return found


def _fetched(pinned: Pinned, file: str) -> Path:
    """A file of the hub, which its client keeps on this machine; a user's token is the client's affair."""
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(pinned.repository, file, repo_type="dataset", revision=pinned.revision))
    except Exception as error:  # the client raises the classes of whatever library it talks to the network with
        reason = " ".join(str(error.__cause__ or error).split())[:200]
        raise ValueError(
            f"{file} of {pinned.repository} at {pinned.revision[:7]} cannot be read ({reason}); do this where there is "
            "a network, or give --data FOLDER with a copy"
        ) from None
