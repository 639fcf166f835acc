"""The report's figures: which there are, what they are called and what they say in words."""

from bench.report.figures.drawing import Drawing
from bench.report.figures.gallery import gallery

__all__ = ["Drawing", "gallery"]
