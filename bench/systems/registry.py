"""Systems by name, for a process that is only a client; only the system asked for is imported."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from bench.errors import LoadError
from bench.systems.protocols import System
from bench.systems.servers import Servers


def client_side(name: str, endpoint: str) -> System:
    """Return a system fit for producers, consumers and full reads at this endpoint, not for starting servers.

    Raises LoadError for a name that is no system.
    """
    if name == "kafka":
        from bench.systems.kafka import Kafka  # noqa: PLC0415 - loads librdkafka

        return Kafka(_NO_SERVERS)
    if name == "pulsar":
        from bench.systems.pulsar import Pulsar  # noqa: PLC0415 - loads the C++ client

        return Pulsar(_NO_SERVERS)
    if name == "memory":
        from bench.systems.memory import Memory  # noqa: PLC0415

        return Memory(Path(endpoint))
    raise LoadError(f"There is no system called {name}: kafka, pulsar and memory are known.")


def _no_server(*_: str) -> NoReturn:
    raise LoadError("A load process was asked where a server is installed, and it starts none.")


_NO_SERVERS = Servers(home=_no_server, archive=_no_server)
