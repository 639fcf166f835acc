"""What other users of a machine, and whoever reads environments, see of its processes while something runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_TURN_S = 0.05


@dataclass
class ProcessList:
    """The command lines and the environments of all processes that were seen, as the kernel shows them."""

    _command_lines: set[bytes] = field(default_factory=set)
    _environments: set[bytes] = field(default_factory=set)

    @property
    def command_lines(self) -> bytes:
        return b"\n".join(self._command_lines)

    @property
    def environments(self) -> bytes:
        return b"\n".join(self._environments)

    def look(self) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it may end meanwhile
                self._command_lines.add((process / "cmdline").read_bytes())
                self._environments.add((process / "environ").read_bytes())

    def ran(self, module: str) -> bool:
        """Whether `python -m module` was among the processes: only then would a secret there have been seen."""
        return f"-m\0{module}\0".encode() in self.command_lines


@contextmanager
def watched() -> Iterator[ProcessList]:
    """Look at all processes again and again; what was seen is complete at the end."""
    process_list, over = ProcessList(), threading.Event()

    def watch() -> None:
        while not over.wait(_TURN_S):
            process_list.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield process_list
    finally:
        over.set()
        watcher.join()
