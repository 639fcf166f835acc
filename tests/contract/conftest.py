"""Systems to hold the contract of bench/systems/protocols.py against; every test runs once for each."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.model import Cluster, Topic
from bench.systems.memory import Memory
from bench.systems.protocols import Admin, System


@dataclass
class LiveSystem:
    """A system that takes requests. `topic` makes topics, each with a name of its own."""

    system: System
    endpoint: str
    admin: Admin
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def topic(self, partitions: int) -> Topic:
        topic = Topic(f"contract-{next(self._numbers)}", partitions)
        self.admin.create_topic(topic)
        return topic


@contextmanager
def live_memory(folder: Path) -> Iterator[LiveSystem]:
    system = Memory(folder)
    with closing(system.admin(Cluster("memory", "1", {}), [])) as admin:
        yield LiveSystem(system, system.endpoint([]), admin)


LIVE_SYSTEMS: dict[str, Callable[[Path], AbstractContextManager[LiveSystem]]] = {"memory": live_memory}
"""How to bring each system up below a folder, for all tests of a session."""


@pytest.fixture(scope="session", params=sorted(LIVE_SYSTEMS))
def live_system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveSystem]:
    with LIVE_SYSTEMS[request.param](tmp_path_factory.mktemp(request.param)) as live:
        yield live
