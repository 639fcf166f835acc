"""Command lines of the servers' JVMs: heap, collector, compiler, class-data archive; the same for all systems.

Every server runs with the serial collector and a heap of fixed size. On the small heaps used here that costs the
least memory and CPU, and a heap that can't grow makes memory predictable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.model import Jit

_FIXED = (
    "-XX:+UseSerialGC",
    # Without it the JVM keeps its counters in a mapped file, and a slow disk under /tmp shows as a pause.
    "-XX:+PerfDisableSharedMem",
    # A server that is out of memory is gone, not half alive: the run then says so.
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
)
_USES = "-XX:SharedArchiveFile="
_SHARES = "-Xshare:auto"
_MAKES = "-XX:ArchiveClassesAtExit="
_AGENT = "-javaagent:"
"""A JVM with an agent writes no archive; one that reads an archive may have agents."""
_SIZE, _SWITCH, _VALUE = (
    re.compile(r"-(Xm[sx])(.+)"),
    re.compile(r"-XX:([+-])(\w+)"),
    re.compile(r"-XX:(\w+)=(.+)"),
)
_QUIET = "-Xlog:cds*=error"
"""Each class that does not fit an archive is a warning: hundreds of lines that would hide a server's own."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """One server's JVM. `archive` is used where the file exists; `options` are further JVM flags.

    Native libraries are unpacked in `temporary_folder`, which exists when the server starts. A server that is killed
    leaves them there.

    An archive made under one `jit` also serves the other; it is bound to the class path and the collector.
    """

    class_path: str
    heap_mib: int
    temporary_folder: Path
    jit: Jit = Jit.DEFAULT
    archive: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()

    def command(self, main: str, *arguments: str) -> tuple[str, ...]:
        """Return the whole command line that runs the class `main`."""
        return (
            "java",
            f"-Xms{self.heap_mib}m",
            f"-Xmx{self.heap_mib}m",
            *_FIXED,
            *(["-XX:TieredStopAtLevel=1"] if self.jit is Jit.C1 else []),
            *self._archive_flags(),
            *self.options,
            f"-Djava.io.tmpdir={self.temporary_folder}",
            *(f"-D{name}={value}" for name, value in self.properties.items()),
            "-cp",
            self.class_path,
            main,
            *arguments,
        )

    def _archive_flags(self) -> list[str]:
        if self.archive is None or not self.archive.is_file():
            return []
        return [_SHARES, f"{_USES}{self.archive}"]


def archiving_command(command: Sequence[str], archive: Path) -> tuple[str, ...]:
    """Return a server's command line changed so that it writes its class-data archive when it ends (SIGTERM).

    Use it for one server of each role that has started and taken a request; the archive holds what it loaded.
    """
    java, *arguments = command
    kept_arguments = [
        word for word in arguments if word != _SHARES and not word.startswith((_USES, _MAKES, _AGENT))
    ]
    return (java, f"{_MAKES}{archive}", _QUIET, *kept_arguments)


def flags(command: Sequence[str]) -> dict[str, str | bool]:
    """Return what a server's JVM was told, by HotSpot's names (Xmx, UseSerialGC …); nothing for what is no JVM."""
    flag_values: dict[str, str | bool] = {}
    for word in command[1 : command.index("-cp")] if command[0] == "java" else ():
        if size := _SIZE.fullmatch(word):
            flag_values[size[1]] = size[2]
        elif switch := _SWITCH.fullmatch(word):
            flag_values[switch[2]] = switch[1] == "+"
        elif (value := _VALUE.fullmatch(word)) and not word.startswith((_USES, _MAKES)):
            flag_values[value[1]] = value[2]
    return flag_values
