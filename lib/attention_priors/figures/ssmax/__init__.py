"""Scalable softmax: entropy and largest weight by context, and the lead that retrieval needs, with noise and priors."""

import numpy as np

from ...config import TheoryProfile


def contexts(size: TheoryProfile) -> list[int]:
    """Powers of two from 8 to 32 times the trained length, `size.length`."""
    return [2**k for k in range(3, int(np.log2(size.length)) + 6)]
