"""Keys and atomic files.

One function, `key`, makes every identifier of a run, a metric and a figure, from settings and versions that people
declare. Code is no part of it: `code.fingerprint` is provenance.
"""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REMEDY = "restore it (git checkout) or, if it is not committed, delete it and run the same command again"


class DamagedFile(ValueError):
    """A stored file cannot be read: it was cut short or altered."""


def canonical(value: Any) -> str:
    """JSON text of plain data that does not depend on the order in which dictionaries were filled."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a key is made from plain finite data only, but got {value!r}: {error}") from None


def key(*parts: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the parts' canonical JSON."""
    return hashlib.sha256(canonical(list(parts)).encode()).hexdigest()[:16]


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file so that readers see the old content or the new, never a part of it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            remedy = "the disk is full, and the file is as it was; free some space and run the same command again"
            raise OSError(errno.ENOSPC, remedy, str(path)) from None
        raise


def write_text(path: str | Path, text: str) -> None:
    """Atomic `write_bytes` of UTF-8 text with Unix line ends."""
    write_bytes(path, text.encode("utf-8"))


def packed(text: str) -> bytes:
    """Text as large files are committed: UTF-8, compressed, the same bytes for the same text."""
    return lzma.compress(text.encode("utf-8"), preset=9)


def read_text(path: str | Path) -> str:
    """The text of a file, also of one that was `packed` (`.xz`); `DamagedFile` where it is cut short or altered."""
    data = Path(path).read_bytes()
    try:
        return (lzma.decompress(data) if Path(path).suffix == ".xz" else data).decode("utf-8")
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is damaged ({error}); restore it (git checkout)") from None


def write_json(path: str | Path, value: Any) -> None:
    """Atomic, indented, key-sorted JSON; refuses NaN, which is not JSON."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: str | Path, remedy: str = REMEDY) -> Any:
    """Read JSON; a damaged file raises `DamagedFile` with its path and the remedy."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedFile(f"{path} is not complete JSON ({error}); {remedy}") from None


def kept_json(path: str | Path, measure: Callable[[], Any]) -> Any:
    """What `path` holds; where it is missing or damaged, `measure()` is asked and written first.

    The answer always comes from the file, so that its keys have one order on the first day and on every later one.
    """
    try:
        return read_json(path)
    except (FileNotFoundError, DamagedFile):
        write_json(path, measure())
        return read_json(path)


@contextmanager
def locked(folder: Path, name: str, wait: bool = True) -> Iterator[bool]:
    """Hold `folder`/`name`.lock; the operating system lets go of it however the process ends.

    Yields False where `wait` is False and another process holds it.
    """
    import fcntl  # here, so that the library can be imported where there is none

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
