"""What all command lines share: arguments, and one line for what is wrong with them or with the files they name."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from .. import config, runtime

REFUSED = (OSError, ValueError, FloatingPointError)  # bad input, a file that cannot be used, a loss that is not finite


def names(text: str) -> list[str]:
    """The names between commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


SHARED = {
    "profile": {"default": "cpu", "help": "sizes: a file of notebooks/profiles (default: cpu)"},
    "results": {"type": Path, "default": config.ROOT / "results", "help": "folder (default: results)"},
    "only": {"type": names, "default": "", "metavar": "NAMES", "help": "these notebooks (commas) and what they need"},
}


class Arguments(argparse.ArgumentParser):
    """Arguments of a command and the `shared` ones; what is wrong with them is one line, and exit status 2."""

    def __init__(self, name: str, about: str, *shared: str) -> None:
        super().__init__(prog=f"python -m attention_priors.commands.{name}", description=about.splitlines()[0])
        for each in shared:
            self.add_argument(f"--{each}", **SHARED[each])

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


Main = Callable[..., int]  # of the words of a command line: the exit status


def refusing(status: int = 2, stopped: str = "") -> Callable[[Main], Main]:
    """A command that says in one line what is REFUSED, with that exit status, or how to go on when it is `stopped`."""

    def wrap(main: Main) -> Main:
        @functools.wraps(main)
        def run(arguments: list[str] | None = None) -> int:
            try:
                return main(arguments)
            except KeyboardInterrupt:
                if not stopped:
                    raise
                print(f"\nstopped: {stopped}", file=sys.stderr, flush=True)
                return 130
            except REFUSED as error:
                print(f"error: {runtime.said(error)}", file=sys.stderr, flush=True)
                return status

        return run

    return wrap
