"""The kinds of fault, a module each. A module that is added here is known at once."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from bench.faults.fault import Fault


@cache
def kinds() -> dict[str, type[Fault]]:
    """Return every kind by the key that it has in a scenario."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return {kind.key: kind for kind in sorted(Fault.__subclasses__(), key=lambda kind: kind.key)}
