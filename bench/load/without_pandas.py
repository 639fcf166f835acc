"""Keeps pandas out of processes that run while a trial is measured.

PyArrow loads it with its first array, if it is installed. That costs each process 0.3 s and 45 MB for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _WithoutPandas(MetaPathFinder):
    """Refuses pandas. PyArrow takes no notice of a `None` among the loaded modules, and breaks."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            message = "pandas is kept out of this process"
            raise ModuleNotFoundError(message, name=fullname)
        return None


def keep_pandas_out() -> None:
    """Have every first import of pandas fail from now on."""
    sys.meta_path.insert(0, _WithoutPandas())
