"""How much throughput the load side costs: Locust, send loops and recorder against bare client loops. Prints JSON.

    python -m bench.backends.sandbox tests.perf.load_ratio --system kafka --users 1 10 100   # starts a cluster
    python -m tests.perf.load_ratio --system kafka --mock              # on librdkafka's own mock brokers
    python -m tests.perf.load_ratio --system memory --endpoint /dev/shm/x

The loops are described in bare_loops.py. All processes stay up while they take turns of a second or less, over many
rounds; ratios are of medians over rounds. CPU an ack (`cpu_us`) is the client process's own, and minds
busy neighbours less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.backends import sandbox
from bench.load.commands import Produce
from bench.load.process import PRODUCER_MODULE, WorkerProcess
from bench.model import Cluster, Jit, Load, Pacing, Settings, Topic
from bench.run import wiring
from bench.run.cluster import run_cluster
from tests.perf.bare_loops import LOOPS, MESSAGE_BYTES, WARM_UP_S

CLUSTERS = {
    "kafka": {"controller": 1, "broker": 3},
    "pulsar": {"zookeeper": 1, "bookie": 3, "broker": 2},
    "memory": {},
}
COPIES: dict[str, Settings] = {"kafka": {"replicas": 3}, "pulsar": {"quorums": "3-3-2"}, "memory": {}}


class Measured(NamedTuple):
    """Acks a second, and microseconds of the client's CPU for each."""

    rate: float
    cpu_us: float


Turn = Callable[[float], Measured]


@contextmanager
def bare_loop(options: argparse.Namespace, users: int, loop: str) -> Iterator[Turn]:
    command = [
        *(sys.executable, "-m", "tests.perf.bare_loops", "--system", options.system),
        *("--endpoint", options.endpoint, "--topic", options.topic, "--partitions", str(options.partitions)),
        *("--users", str(users), loop),
    ]
    pipe = subprocess.PIPE
    # A session of its own, like the load process: the kernel shares a busy CPU out by sessions (autogroup).
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:

        def turn(seconds: float) -> Measured:
            print(seconds, file=process.stdin, flush=True)
            return Measured(*json.loads(process.stdout.readline()))  # type: ignore[union-attr]

        yield turn
        process.stdin.close()  # type: ignore[union-attr]


class LoadSide:
    """Locust, send loops and recorder, in the process that trials use."""

    def __init__(self, options: argparse.Namespace, users: int, worker: WorkerProcess, folder: Path) -> None:
        self.client: dict[str, Any] = {}
        self._options = options
        self._users = users
        self._worker = worker
        self._folder = folder
        self._number = 0

    def turn(self, seconds: float) -> Measured:
        self._number += 1
        folder = self._folder / str(self._number)
        summary = self._worker.call(self._command(seconds, folder), deadline_s=60)
        self.client = summary["client"]
        window = summary["window"]
        acks = acked(folder, window["start_ns"], window["end_ns"])
        return Measured(acks / seconds, self.client["cpu_share"] * seconds / max(acks, 1) * 1e6)

    def _command(self, seconds: float, folder: Path) -> Produce:
        return Produce(
            system=self._options.system,
            endpoint=self._options.endpoint,
            topic=Topic(self._options.topic, self._options.partitions),
            producer={},
            load=Load(self._users, MESSAGE_BYTES, Pacing(), 1, 0, WARM_UP_S, seconds, None),
            trial=self._number,
            run="ratio",
            folder=folder,
            seed=1,
        )


def acked(folder: Path, start_ns: int, end_ns: int) -> int:
    """Count as the analysis does: acknowledged inside the window."""
    sends = pq.read_table(folder, columns=["done_ns", "outcome"])
    inside = pc.and_(pc.greater_equal(sends["done_ns"], start_ns), pc.less(sends["done_ns"], end_ns))
    count: int = pc.sum(pc.and_(inside, pc.equal(sends["outcome"], "ok"))).as_py()
    return count


def compare(options: argparse.Namespace, users: int) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        worker = stack.enter_context(WorkerProcess(PRODUCER_MODULE, folder / "log"))
        load = LoadSide(options, users, worker, folder)
        turns: dict[str, Turn] = {"load": load.turn}
        for loop in LOOPS[options.system]:
            turns[loop] = stack.enter_context(bare_loop(options, users, loop))
        found: dict[str, list[Measured]] = {name: [] for name in turns}
        for number in range(options.rounds + options.warm_up_rounds):
            for name, turn in turns.items():
                measured = turn(options.seconds)
                if number >= options.warm_up_rounds:
                    found[name].append(measured)
        return {"users": users, **table(found), "client": load.client}


def table(found: dict[str, list[Measured]]) -> dict[str, Any]:
    rates = {name: median(one.rate for one in every) for name, every in found.items()}
    bare = [name for name in found if name != "load"]
    return {
        "acks_per_s": {name: round(rate) for name, rate in rates.items()},
        "ratio": {name: round(rates["load"] / rates[name], 3) for name in bare},
        "rounds_ahead": {name: _ahead(found["load"], found[name]) for name in bare},
        "cpu_us": {name: round(median(one.cpu_us for one in every), 1) for name, every in found.items()},
        "rounds": {name: [round(one.rate) for one in every] for name, every in found.items()},
    }


def _ahead(load: list[Measured], bare: list[Measured]) -> str:
    return f"{sum(one.rate > other.rate for one, other in zip(load, bare, strict=True))} of {len(load)}"


@contextmanager
def endpoint(options: argparse.Namespace) -> Iterator[str]:
    """Give the endpoint asked for, or start what is behind one."""
    if options.endpoint:
        yield options.endpoint
    elif options.mock:
        with mock_brokers() as address:
            yield address
    else:
        with cluster(options) as address:
            yield address


@contextmanager
def cluster(options: argparse.Namespace) -> Iterator[str]:
    sandbox.enter()
    name = options.system
    spec = Cluster(name, wiring.version(name), CLUSTERS[name], jit=options.jit)
    with (
        tempfile.TemporaryDirectory() as folder,
        run_cluster(spec, Path(folder, "nodes"), Path(folder, "logs")) as live,
    ):
        live.admin.create_topic(Topic(options.topic, options.partitions, COPIES[name]))
        yield live.endpoint


@contextmanager
def mock_brokers() -> Iterator[str]:
    """Run librdkafka's mock cluster in a process of its own and give its address."""
    program = (
        "import sys; from confluent_kafka import Producer\n"
        "p = Producer({'bootstrap.servers': 'x', 'test.mock.num.brokers': 3, 'log_level': 0})\n"
        "b = p.list_topics(timeout=10).brokers.values()\n"
        "print(','.join(f'{x.host}:{x.port}' for x in b), flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        yield process.stdout.readline().strip()  # type: ignore[union-attr]
        process.stdin.close()  # type: ignore[union-attr]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.perf.load_ratio")
    parser.add_argument("--system", choices=LOOPS, required=True)
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--mock", action="store_true")
    parser.add_argument("--jit", type=Jit, default=Jit.DEFAULT)
    parser.add_argument("--topic", default="load-ratio")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--users", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--warm-up-rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    with endpoint(options) as options.endpoint:
        for users in options.users:
            print(json.dumps(compare(options, users)), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
