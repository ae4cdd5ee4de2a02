"""Models that see: patches of a picture as tokens, the blocks of the language model, places on a grid."""

from .model import VisionConfig, VisionModel
from .training import ImageRun, ImageSpec, opened

__all__ = ["ImageRun", "ImageSpec", "VisionConfig", "VisionModel", "opened"]
