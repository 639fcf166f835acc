"""Load machines: agents in network namespaces of their own, one with a clock 3 s ahead, and one that is killed."""

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
from tests.load_agents import RUNNER, agent, networks

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("in_sandbox")]

TOPIC = Topic("topic", 3)


@pytest.fixture(scope="module")
def network() -> Iterator[None]:
    with networks(3):
        yield


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("a token of the tests, long enough\n")
    return file


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
