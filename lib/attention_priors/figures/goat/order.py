"""What the figures of Goat share: their notebook, and the order of encodings."""

from collections.abc import Iterable

NOTEBOOK = "learned_spectra"
GOAT = "goat"  # begins the names of Goat's variants


def ordered(names: Iterable[str]) -> list[str]:
    """Goat's variants first, each group in its own order."""
    return sorted(dict.fromkeys(names), key=lambda name: not name.startswith(GOAT))
