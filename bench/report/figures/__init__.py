"""The report's figures: which there are, what they are called and what they say in words."""

from bench.report.figures.drawing import Drawing
from bench.report.figures.gallery import first_page_drawings, gallery

__all__ = ["Drawing", "first_page_drawings", "gallery"]
