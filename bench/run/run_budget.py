"""Whether a run goes on: after each round its expectations are judged as its report would judge them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from bench.run.folder import RunFolder

FIRST_ROUNDS = 2
"""After so many rounds at least a run is evaluated: one round has no intervals."""
_MOST_ROUNDS = 30
"""No run has more rounds, whatever its budget."""
_MARGIN = 0.9
"""A further round begins where this share of its time is left: rounds of one run differ by as much."""


@dataclass(slots=True)
class Evaluation:
    """The state of a run that goes on; `looks` is how often it was evaluated to decide that."""

    folder: RunFolder
    looks: int
    _figures: dict[int, Any] = field(default_factory=dict)

    def look(self) -> Any:  # noqa: ANN401 - an Outlook, whose module loads only where a run has a budget
        """Judge the trials so far; return the Outlook, and write down that somebody looked."""
        from bench.analysis import outlook_of  # noqa: PLC0415 - as above

        self.looks += 1
        self.folder.amend("manifest.json", looks=self.looks)
        return outlook_of(self.folder.path, self.looks, self._figures)


@dataclass(slots=True)
class Budget:
    """The time of a run, from now on; infinite where it has no end."""

    seconds: float
    _begun_s: float = field(default_factory=time.monotonic)

    def allows(self, rounds: int, round_s: float) -> bool:
        """Whether one more round fits, after so many that took so long each."""
        spent_s = time.monotonic() - self._begun_s
        return rounds < _MOST_ROUNDS and spent_s + _MARGIN * round_s <= self.seconds
