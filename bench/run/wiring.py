"""Which system stands behind a name, with its server archives. The one place that knows both rooms."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from bench.backends import artifacts
from bench.backends.machine import java_version
from bench.systems.protocols import System
from bench.systems.registry import describe
from bench.systems.servers import Servers

_MEMORY = Path("/dev/shm/bench-memory")  # noqa: S108 - shared memory is the point of it


@cache
def servers(name: str) -> Servers:
    """Return where a system's server archives and class-data archives are."""
    return Servers(home=partial(artifacts.home_folder, name), archive=partial(_archive, name))


def _archive(name: str, version: str, role: str) -> Path:
    """An archive fits one version, one class path (which the cache's place decides) and one JDK."""
    return artifacts.cache_root() / "archives" / name / f"{version}-java-{java_version()}" / f"{role}.jsa"


@cache
def system(name: str) -> System:
    """Return the system of that name, for the side that starts servers."""
    return describe(name).connect(servers(name), _MEMORY)


def require_server(name: str, server_version: str) -> None:
    """Raise SetupError where a server's version is not installed."""
    if describe(name).installation:
        artifacts.server_home(name, server_version)


def version(name: str) -> str:
    """Return a system's default version."""
    return artifacts.default_version(name) if describe(name).installation else "1"
