"""How systems look, everywhere the same: colours that differ in hue and in lightness, and a marker each.

The pair blue and orange is safe for the common colour-vision deficiencies. The blue is much the darker one, so the
systems also differ in grey print, where the markers help.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import seaborn as sns
from matplotlib import font_manager

from bench.systems.registry import describe

INK, SOFT, GRID, SHADE, BAD = "#1c2430", "#5b6675", "#dfe3e8", "#eceff3", "#b3261e"
DISK = "#b9c0ca"
"""Ranges of typical disks."""
QUIET = "#6b7583"
"""Text that only repeats the row above."""
SANS = "Inter"
LEAST_CONTRAST = 4.5
WIDTH_IN = 7.1
"""Width of every figure: the text width of an A4 page, so that a figure is never scaled in print."""
HEIGHT_IN = 6.0
"""Most height of one drawing: with its heading less than two thirds of a page, which is white where it has no room."""
TEXT_PT, HEAD_PT = 9.1, 11.0
"""Type sizes of figures: all text, and the name of a system above its panels. Nothing on paper is under 9 pt."""
CHARACTER_IN, STRONG_IN, LINE_IN = 0.064, 0.069, 0.155
"""Width of an average character of TEXT_PT, regular and semibold, and the distance of two lines."""


@dataclass(frozen=True, slots=True)
class Look:
    """One system's colour, from dark to light for the lines within it, and its marker."""

    base: str
    dark: str
    light: str
    marker: str

    @property
    def ink(self) -> str:
        """The colour for text: as dark as small letters on white need to be."""
        return self.base if contrast(self.base) >= LEAST_CONTRAST else readable(self.base)

    def shades(self, count: int) -> list[str]:
        """As many colours of the system as there are lines, dark to light."""
        if count <= 1:
            return [self.base]
        blend = sns.blend_palette([self.dark, self.base, self.light], count)
        return [mpl.colors.to_hex(colour) for colour in blend]


def contrast(colour: str) -> float:
    """Return the contrast of a colour on white, 1 to 21, as the Web Content Accessibility Guidelines define it."""
    return 1.05 / (luminance(colour) + 0.05)


def luminance(colour: str) -> float:
    """Return how bright a colour is, 0 to 1: what is left of it in grey print."""
    parts = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in mpl.colors.to_rgb(colour)
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def readable(colour: str) -> str:
    """The colour darkened for text, so that light lines have legible labels."""
    return mpl.colors.to_hex(sns.blend_palette([INK, colour], 3)[1])


_OTHER_LOOKS = (Look("#8a3d78", "#4b1d40", "#cf9ac2", "^"), Look("#3f7f86", "#1b474c", "#95c7cc", "v"))
LINES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.4, 1.4)), (0, (6, 1.5, 1.2, 1.5)), (0, (9, 2)))


def look(system: str) -> Look:
    """A system's colours and marker; one that the suite does not know gets its own by its name."""
    description = describe(system)
    if description.colours:
        return Look(*description.colours, description.marker)
    return _OTHER_LOOKS[sum(system.encode()) % len(_OTHER_LOOKS)]


@contextmanager
def typography() -> Iterator[None]:
    """Draw with the report's typography; text stays text in the SVG, so that it can be searched."""
    _find_fonts()
    settings = {
        **sns.axes_style("ticks"),
        "font.family": [SANS, "DejaVu Sans"],
        "font.size": TEXT_PT,
        "axes.titlesize": TEXT_PT,
        "axes.labelsize": TEXT_PT,
        "xtick.labelsize": TEXT_PT,
        "ytick.labelsize": TEXT_PT,
        "text.color": INK,
        "axes.labelcolor": SOFT,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "axes.edgecolor": "#aab2bd",
        "axes.linewidth": 0.6,
        "grid.color": GRID,
        "grid.linewidth": 0.5,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "svg.fonttype": "none",
        "svg.hashsalt": "bench",
        "path.simplify": True,
    }
    with mpl.rc_context(settings):
        yield


def _find_fonts() -> None:
    """Add fonts that were installed after Matplotlib wrote its list of fonts."""
    # The fallback typeface has no semibold; that it takes bold instead is nothing to tell a user.
    logging.getLogger(font_manager.__name__).setLevel(logging.ERROR)
    if SANS in font_manager.fontManager.get_font_names():
        return
    for path in font_manager.findSystemFonts():
        if f"{SANS}-" in path:
            font_manager.fontManager.addfont(path)


def shorten(text: str, most: int) -> str:
    """Cut a name to at most so many characters: of a long one the end stays, which is what differs."""
    return text if len(text) <= most else f"…{text[1 - most :]}"
