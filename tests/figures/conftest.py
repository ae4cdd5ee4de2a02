"""What every figure must do, whatever it shows."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.text import Text

from attention_priors.figures import style


@pytest.fixture
def legible():
    """legible(figure): no text that is shown is smaller than readers can read in print."""

    def check(figure):
        figure.draw_without_rendering()
        texts = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        assert min(text.get_fontsize() for text in texts) >= style.SMALLEST

    return check


@pytest.fixture
def whole():
    """whole(spec, frame): the figure draws, and its caption is a sentence without missing numbers."""

    def check(spec, frame):
        figure = spec.draw(frame)
        figure.canvas.draw()
        caption = spec.caption(frame)
        assert caption.endswith(".") and "nan" not in caption
        plt.close(figure)

    return check
