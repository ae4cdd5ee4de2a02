"""What all command lines share: arguments, and one line for what is wrong with them or with the files they name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from .. import config, runtime

REFUSED = (OSError, ValueError, FloatingPointError)  # bad input, a file that cannot be used, a loss that is not finite


class Arguments(argparse.ArgumentParser):
    """Arguments of a command; what is wrong with them is one line, and exit status 2."""

    def __init__(self, name: str, description: str) -> None:
        super().__init__(prog=f"python -m attention_priors.commands.{name}", description=description)

    def sizes(self) -> None:
        """Add --profile."""
        self.add_argument("--profile", default="cpu", help="sizes: a file of notebooks/profiles (default: cpu)")

    def places(self) -> None:
        """Add --results."""
        self.add_argument("--results", type=Path, default=config.ROOT / "results", help="folder (default: results)")

    def error(self, message: str) -> NoReturn:
        print(f"error: {message}; see --help", file=sys.stderr)
        raise SystemExit(2)


def whole(least: int, most: int) -> Callable[[str], int]:
    """A type of arguments: whole numbers from `least` to `most`."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
        return int(text)

    return read


count = whole(1, 1024)  # of threads, repetitions and the like
seed = whole(0, 2**63 - 1)


def device(text: str) -> str:
    """A device, which need not be there."""
    try:
        return config.known_device(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def refused(error: Exception, status: int = 2) -> int:
    """Say in one line what was REFUSED; the exit status."""
    print(f"error: {runtime.said(error)}", file=sys.stderr, flush=True)
    return status
