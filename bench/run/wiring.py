"""Which system stands behind a name, with its server archives. The one place that knows both rooms."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from bench.backends import artifacts
from bench.backends.machine import java_version
from bench.systems.protocols import System
from bench.systems.servers import Servers


@cache
def servers(name: str) -> Servers:
    """Return where a system's server archives and class-data archives are."""
    return Servers(home=partial(artifacts.server_home, name), archive=partial(_archive, name))


def _archive(name: str, version: str, role: str) -> Path:
    """An archive fits one version, one class path (which the cache's place decides) and one JDK."""
    return artifacts.cache_root() / "archives" / name / f"{version}-java-{java_version()}" / f"{role}.jsa"


@cache
def system(name: str) -> System:
    """Return the system of that name, for the side that starts servers."""
    if name == "kafka":
        from bench.systems.kafka import Kafka  # noqa: PLC0415 - each twin's client library loads only when used

        return Kafka(servers(name))
    if name == "pulsar":
        from bench.systems.pulsar import Pulsar  # noqa: PLC0415 - as above

        return Pulsar(servers(name))
    from bench.systems.memory import Memory  # noqa: PLC0415 - as above

    return Memory(Path("/dev/shm/bench-memory"))  # noqa: S108 - shared memory is the point of it


def version(name: str) -> str:
    """Return a system's default version."""
    return "1" if name == "memory" else artifacts.default_version(name)
