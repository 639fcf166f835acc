"""Which cases of a scenario can run in containers: what the `process` backend alone can do is left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.backends.docker import DockerBackend
from bench.faults import read_steps
from bench.model import DOCKER, Case
from bench.run import process_cases
from bench.systems.registry import describe


def place_cases(cases: Sequence[Case]) -> list[tuple[Case, list[str]]]:
    """Return each case in containers, with the reasons why it cannot run there, in full sentences."""
    return [
        (replace(case, cluster=replace(case.cluster, backend=DOCKER), disk={}), [*_reasons(case)])
        for case in cases
    ]


def _reasons(case: Case) -> Iterator[str]:
    if describe(case.system).image is None:
        yield f"There is no image of {case.system}."
    if case.node_size:
        yield "Nodes of a given size cannot be had in containers."
    if case.cluster.pinned:
        yield "Containers are not pinned to cores (pin)."
    yield from process_cases.reasons(case)
    for step in read_steps(case.faults):
        if step.fault is not None and not all(
            issubclass(DockerBackend, ability) for ability in step.fault.needs
        ):
            yield f"The fault {step.fault.key} cannot strike containers."
