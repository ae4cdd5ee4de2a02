"""R.PK, R.Num and R.KV of InfiniteBench at any length, in the form of its lines, from a seed and without a network.

The needle is told once, at depths spread evenly over the prompts; our own sentences stand around it. R.PK: five random
digits. R.Num: ten, five random ones of which some repeat where they stand. R.KV: a JSON object of random UUIDs.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable
from typing import Any

from ... import runtime

FILLER = "Rain fell on the harbour. The boats lay at the quay. Nobody was in a hurry. So the day went by.\n"
DIGITS = 5
PASSKEY = "Take note: the pass key is {needle}. Do not forget it, {needle} is the pass key.\n"
NUMBERS = "Take note: the sequence of digits is {needle}. Do not forget it, {needle} is the sequence of digits.\n"
Count = Callable[[str], int]  # tokens of a text
Made = tuple[str, str, str]  # context, input, answer


def lines(task: str, length: int, samples: int, seed: int, count: Count = len) -> list[dict[str, Any]]:
    """`samples` lines whose contexts have at most `length` tokens as `count` counts them (len: characters).

    ValueError for a task that cannot be made, no samples, and a length in which the needle has no room.
    """
    if task not in MAKERS:
        raise ValueError(f"task {task!r} cannot be made; leave --length out, or choose from {', '.join(MAKERS)}")
    if samples < 1:
        raise ValueError(f"samples = {samples}; give at least 1")
    units = _units(MAKERS[task], length, count)
    made = []
    for number in range(samples):
        draw = random.Random(runtime.seed_for(seed, f"{task}/{number}"))
        context, asked, answer = MAKERS[task](units, (number + 0.5) / samples, draw)
        made.append({"id": number, "context": context, "input": asked, "answer": [answer], "options": []})
    return made


def _units(make: Callable[[int, float, random.Random], Made], length: int, count: Count) -> int:
    """The most units of filler whose text fits, by bisection; every text of so many units has about that length."""

    def fits(units: int) -> bool:
        return count(make(units, 0.5, random.Random(0))[0]) <= length

    if not fits(1):
        raise ValueError(f"length = {length} has no room for the needle; give a longer one")
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 200):  # within half a per cent: counting tokens of long texts takes time
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _passkey(units: int, depth: float, draw: random.Random) -> Made:
    needle = "".join(str(draw.randrange(10)) for _ in range(DIGITS))
    return _hidden(PASSKEY.format(needle=needle), units, depth), "What is the pass key?", needle


def _numbers(units: int, depth: float, draw: random.Random) -> Made:
    needle = [draw.randrange(10) for _ in range(DIGITS)]
    for _ in range(DIGITS):
        place = draw.randrange(len(needle))
        needle.insert(place, needle[place])
    digits = "".join(map(str, needle))
    return _hidden(NUMBERS.format(needle=digits), units, depth), "What is the sequence of digits?", digits


def _hidden(needle: str, units: int, depth: float) -> str:
    before = min(units, int(depth * (units + 1)))
    return FILLER * before + needle + FILLER * (units - before)


def _pairs(units: int, depth: float, draw: random.Random) -> Made:
    names = [str(uuid.UUID(int=draw.getrandbits(128), version=4)) for _ in range(2 * units)]
    pairs = dict(zip(names[::2], names[1::2], strict=True))
    key = names[2 * min(units - 1, int(depth * units))]
    return f"JSON data:\n{json.dumps(pairs)}", f'Key: "{key}"\nIts value is:', pairs[key]


MAKERS: dict[str, Callable[[int, float, random.Random], Made]] = {
    "passkey": _passkey,
    "number_string": _numbers,
    "kv_retrieval": _pairs,
}
