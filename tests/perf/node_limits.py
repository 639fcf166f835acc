"""What limits of nodes give over what they ask for: CPU quotas, links, disk rates, times of an fsync. Prints JSON.

python -m bench.backends.sandbox tests.perf.node_limits [--times 10]

Two nodes that do nothing; each repetition sets every limit anew on both, and measures what a trial measures before its
load. `link in` and `link out` are the two ways of a link.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.backends import sandbox
from bench.model import Node, Scalar
from bench.run.node_sizes import CPU, DISK_WRITE, FSYNC, NETWORK, BackendLimits, NodeSizes, number, why_not
from tests.integration.echo import echo, running

_LIMITS: tuple[tuple[str, Scalar], ...] = (
    *((CPU, cores) for cores in (0.1, 0.2, 0.3, 0.5)),
    *((NETWORK, rate) for rate in ("10mbit", "50mbit", "200mbit")),
    *((DISK_WRITE, rate) for rate in ("5MB/s", "20MB/s", "50MB/s")),
    *((FSYNC, time) for time in ("1ms", "5ms", "20ms")),
)


def ratios(limits: BackendLimits, nodes: list[Node], name: str, value: Scalar) -> Iterator[tuple[str, float]]:
    """Set a limit on each node and yield, for each way it was measured, what it gave over what it asks for."""
    sizes = NodeSizes(limits, nodes)
    record = sizes.set_and_measure({"echo": {name: value}})
    if record is None:
        raise ValueError(name)
    for measured in record.measured.values():
        got = measured[name]
        ways = {"link in": got[0], "link out": got[1]} if isinstance(got, tuple) else {name: got}
        yield from ((way, amount / number(name, value)) for way, amount in ways.items())
    sizes.set_limits({})


def main() -> None:
    """Measure every limit as often as asked, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    times = parser.parse_args().times
    sandbox.enter()
    if (reason := why_not({"echo": dict(_LIMITS)})) is not None:
        sys.exit(reason)
    given = defaultdict[tuple[str, Scalar], list[float]](list)
    with tempfile.TemporaryDirectory() as folder:
        nodes = [echo(f"echo-{place}", place, Path(folder)) for place in (1, 2)]
        folders = {node.name: node.directory / "data" for node in nodes}
        with running(nodes, [*folders.values()], fsync_gates=True) as backend:
            for _ in range(times):
                for name, value in _LIMITS:
                    for way, ratio in ratios(BackendLimits(backend, folders), nodes, name, value):
                        given[way, value].append(ratio)
    rows = [
        {
            "limit": way,
            "asked": value,
            "measured": len(all_ratios),
            "median": round(statistics.median(all_ratios), 3),
        }
        | {"least": round(min(all_ratios), 3), "most": round(max(all_ratios), 3)}
        for (way, value), all_ratios in given.items()
    ]
    json.dump(rows, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
