"""Bad input: one line that names the value and the remedy."""

import inspect
import re
from collections.abc import Callable

import pytest


def refused(*rows: tuple) -> Callable[..., None]:
    """A test of rows (call, words or patterns of what it says); a call may name fixtures that it needs."""

    @pytest.mark.parametrize("number", range(len(rows)), ids=lambda number: f"{number}-{rows[number][1]}"[:50])
    def test(number: int, request: pytest.FixtureRequest) -> None:
        call, *words = rows[number]
        needs = [each.name for each in inspect.signature(call).parameters.values() if each.default is each.empty]
        given = {name: request.getfixturevalue(name) for name in needs if name != "values"}
        with pytest.raises(ValueError) as caught:
            call(**given)
        said = str(caught.value)
        assert "\n" not in said, said
        for word in words:
            assert word in said or re.search(word, said), said

    return test
