"""What every figure must do, whatever it shows."""

import matplotlib.pyplot as plt
import pytest


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
