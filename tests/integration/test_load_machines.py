"""Load machines: agents in network namespaces of their own, one with a clock 3 s ahead, and one that is killed."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.errors import LoadError
from bench.load.agent import read_token
from bench.load.commands import Finish, Produce, Subscribe, Verify
from bench.load.joined_agents import Invitation
from bench.model import NANOS, Cluster, Load, Pacing, Topic
from bench.run.load_machines import AgentOptions, LoadPlan, LoadProcesses, suite_version
from bench.systems.memory.system import Memory

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("in_sandbox")]

TOPIC = Topic("topic", 3)
BRIDGE, RUNNER = "ag0", "10.99.0.254:7070"
AHEAD_S = 3
SHIFTED = ("unshare", "--time", "--monotonic", str(AHEAD_S), "--fork", "--kill-child")
"""Runs a command on a clock that is ahead."""


def ip(*lines: str) -> None:
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)


@pytest.fixture(scope="module")
def network() -> Iterator[None]:
    """A bridge with the runner, and three network namespaces: a1, a2 and a3."""
    ip(f"link add {BRIDGE} type bridge", f"addr add 10.99.0.254/24 dev {BRIDGE}", f"link set {BRIDGE} up")
    for number in (1, 2, 3):
        ip(
            f"netns add a{number}",
            f"link add ag0v{number} type veth peer name eth0 netns a{number}",
            f"link set ag0v{number} master {BRIDGE} up",
            f"-n a{number} addr add 10.99.0.{number}/24 dev eth0",
            f"-n a{number} link set eth0 up",
            f"-n a{number} link set lo up",
        )
    yield
    ip(*(f"netns del a{number}" for number in (1, 2, 3)), f"link del {BRIDGE}")


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("a token of the tests, long enough\n")
    return file


@contextmanager
def agent(number: int, token: Path, *, ahead: bool = False) -> Iterator[subprocess.Popen[str]]:
    command = ["nsenter", f"--net=/run/netns/a{number}", "--", *(SHIFTED if ahead else ())]
    command += [sys.executable, "-m", "bench", "agent", "--join", RUNNER, "--token-file", str(token)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def load_machines(token: Path, logs: Path, agents: int) -> Iterator[LoadProcesses]:
    """The processes of agents that have joined."""
    with AgentOptions(agents, RUNNER, token).listen() as listener:
        invitation = Invitation(listener, agents, read_token(token), suite_version())
        with LoadPlan(invitation).start_processes(logs, 1) as load:
            yield load


class Trial:
    """One trial's folder and commands, on the in-memory system: it works from every namespace."""

    def __init__(self, run: Path) -> None:
        self.folder = run / "trials" / ".0004"
        for stage in ("sends", "receives"):
            (self.folder / stage).mkdir(parents=True)
        self.endpoint = str(run / "cluster")
        Memory(run / "cluster").admin(Cluster("memory", "1", {}), []).create_topic(TOPIC)

    @property
    def common(self) -> dict[str, Any]:
        return {
            "system": "memory",
            "endpoint": self.endpoint,
            "topic": TOPIC,
            "trial": 4,
            "run": "run",
        }

    def produce(self, load: Load) -> Produce:
        return Produce(
            **self.common, producer={"delay_ms": 1.0}, load=load, folder=self.folder / "sends", seed=1
        )

    @property
    def reading(self) -> dict[str, Any]:
        return {**self.common, "consumer": {}, "folder": self.folder / "receives"}

    def rows(self, stage: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(self.folder / stage).to_pylist()
        return rows


@pytest.mark.usefixtures("network")
def test_the_log_of_three_machines_is_on_one_clock(tmp_path: Path, token: Path) -> None:
    trial = Trial(tmp_path)
    paced = Load(6, 100, Pacing(((2.0, 300.0),)), 20, 3, 0.0, 2.0, None)
    with ExitStack() as stack:
        agents = [
            stack.enter_context(agent(1, token)),
            stack.enter_context(agent(2, token, ahead=True)),
            stack.enter_context(agent(3, token)),
        ]
        with load_machines(token, tmp_path / "logs", 3) as load:
            load.consuming.call(Subscribe(**trial.reading, consumers=3), 60)
            begun_ns = time.monotonic_ns()
            done = load.producing.call(trial.produce(paced), 60)
            ended_ns = time.monotonic_ns()
            load.consuming.call(Finish(trial=4, expected=done["acked"], grace_s=10.0), 60)
            load.consuming.call(Verify(**trial.reading, deadline_s=10, expected=done["acked"]), 60)
            error_ns = load.correct_log(trial.folder, 6)
        said = [process.communicate(timeout=30)[0] for process in agents]

    assert [process.returncode for process in agents] == [0, 0, 0]
    assert all("the run is over" in lines for lines in said)
    assert 0 < error_ns < 20_000_000
    sends = trial.rows("sends")
    assert {row["producer"] for row in sends} == set(range(6))
    assert done["sent"] == len(sends)
    assert all(begun_ns <= row["sent_ns"] <= row["done_ns"] <= ended_ns for row in sends)
    due_ns = sorted(row["due_ns"] for row in sends)
    late_ns = [time_ns - due_ns[0] - number * NANOS / 300 for number, time_ns in enumerate(due_ns)]
    assert max(map(abs, late_ns)) <= 2 * error_ns  # one schedule over all machines
    sent_ns = {(row["producer"], row["sequence"]): row["sent_ns"] for row in sends}
    for row in trial.rows("receives"):
        assert row["sent_ns"] == sent_ns[row["producer"], row["sequence"]]
        assert row["received_ns"] > row["sent_ns"] - error_ns
    live = [row for row in trial.rows("receives") if row["stage"] == "live"]
    assert {row["consumer"] for row in live} == {0, 1, 2}
    assert max(row["received_ns"] - row["sent_ns"] for row in live) < NANOS
    assert not list(trial.folder.glob("*/.*"))


@pytest.mark.usefixtures("network")
def test_an_agent_that_is_killed_ends_the_load_at_once(tmp_path: Path, token: Path) -> None:
    trial = Trial(tmp_path)
    long = Load(4, 100, Pacing(), 1, 1, 0.0, 60.0, None)
    with agent(1, token), agent(2, token) as killed, load_machines(token, tmp_path / "logs", 2) as load:
        progress: list[float] = []

        def listen(figures: dict[str, Any]) -> None:
            progress.append(time.monotonic())
            if figures["acked"] > 100:
                killed.kill()

        begun = time.monotonic()
        with pytest.raises(LoadError, match=r"ended|does not answer|closed the connection"):
            load.producing.call(trial.produce(long), 90, listen)

        assert progress
        assert time.monotonic() - begun < 20
