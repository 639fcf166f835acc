"""Restarts of nodes that exit, as a service supervisor makes them, and when."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

EndListener = Callable[[str, int], None]
"""Told once of each end: the node's name, its exit status."""

RestartListener = Callable[[str], None]
"""Told once of each start after such an end, when the node's first port is open: the node's name."""

RESTART_S = 12.0
"""Longer than a session with ZooKeeper lasts in the scenarios (6 s).

A bookie that comes back while its old registration is still there fails to register, goes on without, and stays unknown
to brokers once the old one is gone (Pulsar 4.0.8).
"""
_MOST = 20


@dataclass(slots=True)
class Supervision:
    """Nodes that ended by themselves wait here for their next start."""

    noted: EndListener
    back: RestartListener = field(default=lambda _name: None)
    _times: Counter[str] = field(default_factory=Counter)
    _due: dict[str, float] = field(default_factory=dict)
    _starting: set[str] = field(default_factory=set)

    def takes(self, name: str, status: int) -> bool:
        """Take a node that has ended, each time anew; False once it has ended so often that something is wrong."""
        if name in self._due:
            return True
        self._starting.discard(name)
        self._times[name] += 1
        if self._times[name] > _MOST:
            return False
        self._due[name] = time.monotonic() + RESTART_S
        self.noted(name, status)
        return True

    def is_due(self, name: str) -> bool:
        """Tell whether the node is to be started now, and let go of it."""
        if time.monotonic() < self._due[name]:
            return False
        del self._due[name]
        self._starting.add(name)
        return True

    @property
    def starting_nodes(self) -> frozenset[str]:
        """Nodes that were started again and whose port was not yet seen open."""
        return frozenset(self._starting)

    def is_back(self, name: str) -> None:
        """Tell that a node's port is open."""
        self._starting.discard(name)
        self.back(name)

    def forget(self, name: str) -> None:
        """Wait no longer for a node's port: somebody ended it on purpose."""
        self._starting.discard(name)
