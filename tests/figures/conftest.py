"""What every figure must do, whatever it shows."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.text import Text

from attention_priors.config import TheoryProfile
from attention_priors.figures import style
from figures import looks


@pytest.fixture
def legible():
    """legible(figure): no text that is shown is smaller than readers can read in print."""

    def check(figure):
        looks.settle(figure)
        texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= style.SMALLEST

    return check


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def small():
    """small(length=..): sizes of a simulation that takes no time."""
    return lambda **given: TheoryProfile(**{"draws": 2000, "length": 64, "puck_steps": 1} | given)


@pytest.fixture
def whole():
    """whole(spec, frame): the figure, which draws and whose caption is a sentence without missing numbers."""

    def check(spec, frame):
        figure = spec.draw(frame)
        looks.settle(figure)
        caption = spec.caption(frame)
        assert caption.endswith(".") and "nan" not in caption
        return figure

    return check
