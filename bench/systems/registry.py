"""All systems: what the suite knows of each, and the system itself for a process that is only a client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from bench.errors import LoadError
from bench.systems.description import Description
from bench.systems.kafka.description import KafkaDescription
from bench.systems.memory.description import MemoryDescription
from bench.systems.nats.description import NatsDescription
from bench.systems.protocols import System
from bench.systems.pulsar.description import PulsarDescription
from bench.systems.servers import Servers

DESCRIPTIONS: Mapping[str, Description] = {
    description.name: description
    for description in (
        KafkaDescription("kafka"),
        PulsarDescription("pulsar"),
        NatsDescription("nats"),
        MemoryDescription("memory"),
    )
}
"""In the order in which reports show them."""
NAMES = tuple(DESCRIPTIONS)
INSTALLED = tuple(name for name, description in DESCRIPTIONS.items() if description.installation)
"""Those that have servers to install and start."""
STORAGE_ROLES = frozenset(
    description.storage_role for description in DESCRIPTIONS.values() if description.storage_role
)
WORKING_ROLES = tuple(
    dict.fromkeys(role for description in DESCRIPTIONS.values() for role in description.work)
)
"""Roles whose servers have to do with messages."""


def describe(name: str) -> Description:
    """Return what is known of a system; of one that the suite cannot run, such as an imported one, its name."""
    return DESCRIPTIONS.get(name) or Description(name)


def system_title(name: str) -> str:
    """Return a system's name as it begins a heading."""
    return describe(name).title or name.capitalize()


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of systems as they stand everywhere, each once: the suite's own, then the others by name."""
    return sorted(set(names), key=lambda name: (NAMES.index(name) if name in NAMES else len(NAMES), name))


def client_side(name: str, endpoint: str) -> System:
    """Return a system fit for producers, consumers and full reads at this endpoint, not for starting servers.

    Raises LoadError for a name that is no system.
    """
    if name not in DESCRIPTIONS:
        raise LoadError(f"There is no system called {name}: {', '.join(NAMES)} are known.")
    return DESCRIPTIONS[name].connect(_NO_SERVERS, Path(endpoint))


def _no_server(*_: str) -> NoReturn:
    raise LoadError("A load process was asked where a server is installed, and it starts none.")


_NO_SERVERS = Servers(home=_no_server, archive=_no_server)
