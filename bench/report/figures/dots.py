"""Many small dots as one shape: in SVG a marker each would take a hundred bytes a dot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path


def dots(axes: Axes, places: npt.ArrayLike, colour: str, *, size: float = 2.0, alpha: float = 0.4) -> None:
    """Draw dots of `size` points at `places`, rows of x and y in data coordinates, as round strokes without length."""
    points = np.asarray(places, dtype=float)
    if not len(points):
        return
    path = Path(np.repeat(points, 2, axis=0), [Path.MOVETO, Path.LINETO] * len(points))
    path.should_simplify = False
    axes.add_patch(
        PathPatch(path, fill=False, capstyle="round", linewidth=size, edgecolor=colour, alpha=alpha)
    )
