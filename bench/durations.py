"""Lengths of time as scenario files write them: a number with its unit."""

from __future__ import annotations

import re

DURATION = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h)$")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(value: object) -> float:
    """Turn '500ms', '6s', '2m', '1h' into seconds. Raises ValueError."""
    match = DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        message = "a duration is a number with its unit: 500ms, 6s, 2m, 1h"
        raise ValueError(message)
    return float(match[1]) * _SECONDS[match[2]]
