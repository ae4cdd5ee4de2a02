"""How many parameters a decoder of Llama's form has, and whether a printed number shows a count."""

from __future__ import annotations

from decimal import Decimal

VOCABULARY = 32_768  # Mistral-7B v0.3
UNITS = {"M": 10**6, "B": 10**9}


def transformer(layers: int, width: int, hidden: int, vocabulary: int = VOCABULARY) -> int:
    """L (4 d^2 + 3 d h + 2 d) + d + V d: attention, SwiGLU's three matrices and two norms a layer; then a final norm,
    and an output head that shares nothing with the embedding of V d."""
    return layers * (4 * width * width + 3 * width * hidden + 2 * width) + width + vocabulary * width


def shows(value: float, text: str) -> bool:
    """Whether `text` ('~95M', '1.1B') is `value` rounded or cut to its digits; final zeros count as not shown."""
    digits = Decimal(text.strip("~MB")).normalize()
    step = Decimal(10) ** digits.as_tuple().exponent
    steps = Decimal(value) / UNITS[text[-1]] / step
    return digits / step in (int(steps), round(steps))


def alike(a: float | str, b: float | str) -> bool:
    """A count and its text, in either order."""
    return a == b or (shows(b, a) if isinstance(a, str) else shows(a, b))
