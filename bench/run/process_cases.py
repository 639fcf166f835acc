"""What of a case only nodes of the `process` backend can do."""

from __future__ import annotations

from collections.abc import Iterator

from bench.model import EMULATED_FSYNC, PROCESSES, Case
from bench.scenario.values import AS_IS


def reasons(case: Case) -> Iterator[str]:
    """Say, in full sentences, what of a case needs nodes that are processes of this machine."""
    if case.disk.get(EMULATED_FSYNC, AS_IS) != AS_IS:
        yield "An fsync delay can be emulated on nodes of the process backend only."
    if case.processor:
        yield "Its application runs in a node of the process backend."
    if case.consumer_group.get(PROCESSES):
        yield "The members of its group run in nodes of the process backend."
