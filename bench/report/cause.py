"""Why a fault did what it did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a fault did what it did, and what prevents it, by the documentation (`source`) of the system: `system`."""

    text: str
    prevention: str = ""
    source: str = ""
    system: str = ""

    @property
    def advice(self) -> str:
        """What prevents it, with the system that it is of."""
        return f"{self.system}: {self.prevention}" if self.system else self.prevention

    @property
    def why(self) -> str:
        """The question that it answers."""
        return f"Why, {self.system}" if self.system else "Why"
