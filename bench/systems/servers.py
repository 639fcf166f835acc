"""Where a system's server jars and class-data archives are; the installer sets it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.errors import SetupError


@dataclass(frozen=True)
class Servers:
    """Two look-ups: `home(version)` is a server's folder, `archive(version, role)` a class-data archive.

    The home has its jars in `lib/` (Pulsar's also has `conf/`), or its program in `bin/` (NATS). The archive may not
    exist (yet): a server then starts without it, only slower.
    """

    home: Callable[[str], Path]
    archive: Callable[[str, str], Path]

    def agent(self, version: str) -> Path:
        """The JVM agent that shows a server's own figures, for a system whose servers cannot do so themselves."""
        return self.home(version) / "agent" / "jmx_prometheus_javaagent.jar"

    def class_path(self, version: str) -> str:
        """All jars by name, in a fixed order: a class-data archive is valid for one exact class path.

        Empty for a server that is not installed, whose nodes can only be planned.
        """
        lib = self.home(version) / "lib"
        jars = sorted(lib.glob("*.jar"))
        if not jars and lib.parent.exists():
            raise SetupError(f"There is no jar in {lib}, so no server can be started: run `make setup`.")
        return os.pathsep.join(map(str, jars))
