"""Percentiles of what the backends measure themselves."""

from __future__ import annotations

from collections.abc import Sequence


def nearest_rank(ordered: Sequence[int], percent: int) -> int:
    """Return a percentile of values in ascending order, at least one, by its nearest rank: one of the values."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
