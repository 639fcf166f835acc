"""What may be loaded from several machines or by several processes, before anything starts."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench import cli
from bench.errors import ScenarioError, SetupError
from bench.load import agent
from bench.run import outside, trial_record
from bench.run.external_clusters import ExternalCluster
from bench.run.load_machines import AgentOptions
from bench.run.plan import Plan, plan
from bench.scenario import load
from bench.systems.external_access import ClusterFacts

SCENARIO = """\
name: small
title: A small one
question: Who sends?
systems: {kafka: {topic: {replicas: 1}}}
duration: 1s
repeats: 1
"""
CLUSTER = ExternalCluster(
    "staging.yaml", "kafka", "one:9092", "bench-", 0.0, ClusterFacts(nodes={"broker": 1}), {}
)
TOKEN = "a token of the tests, long enough"  # noqa: S105 - no secret


def planned(folder: Path, text: str, **options: Any) -> Plan:
    file = folder / "small.yaml"
    file.write_text(SCENARIO + text, encoding="utf-8")
    return plan(load(file), 1, **options)


def agents(folder: Path, count: int = 2, address: str = "127.0.0.1:0", token: str = TOKEN) -> AgentOptions:
    file = folder / "token"
    file.write_text(token, encoding="utf-8")
    return AgentOptions(count, address, file)


@pytest.mark.parametrize(
    ("text", "external", "reason"),
    [
        ("load: {producers: 2}\n", False, "add --cluster FILE"),
        ("load: {producers: 1}\n", True, "fewer producers than --agents 2"),
        ("load: {producers: 2, processes: 2}\n", True, "load.processes counts on this machine"),
        (
            "load: {producers: 2}\ncapacity: {response_p99: 50ms}\n",
            True,
            "a search for capacity reads the event log meanwhile",
        ),
    ],
)
def test_what_agents_cannot_load_is_refused_before_anything_starts(
    tmp_path: Path, text: str, external: bool, reason: str
) -> None:
    run_plan = planned(tmp_path, text, external={"kafka": CLUSTER} if external else None)

    with pytest.raises(SetupError, match=reason):
        outside.start(run_plan, tmp_path / "out", web=False, agents=agents(tmp_path))

    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("address", "token", "reason"),
    [
        ("nowhere.invalid:7070", TOKEN, "--listen nowhere.invalid:7070"),
        ("127.0.0.1", TOKEN, "give HOST:PORT"),
        ("127.0.0.1:7070", "short", "16 characters at least"),
    ],
)
def test_where_nobody_can_listen_is_said(tmp_path: Path, address: str, token: str, reason: str) -> None:
    with pytest.raises(SetupError, match=reason):
        agents(tmp_path, address=address, token=token).listen()


def test_every_process_has_a_producer(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="3 needs as many producers at least, and there are 2"):
        planned(tmp_path, "load: {producers: [2, 4], processes: 3}\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--agents", "2"], "give all three"),
        (["--listen", "127.0.0.1:7070", "--token-file", "token"], "give all three"),
        (["--agents", "2", "--listen", "a:1", "--token-file", "t", "--web"], "leave it out with --agents"),
        (["--backend", "podman"], "give process or docker"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], reason: str) -> None:
    answer = CliRunner().invoke(cli.app, ["run", "acks-sweep", *arguments])

    assert answer.exit_code == 2
    assert reason in " ".join(answer.output.split()).replace("│ ", "")


@pytest.mark.parametrize(
    ("failure", "complaint"),
    [
        (agent.ClosedError("It closed the connection."), None),
        (agent.NotListeningError("Nobody listens."), None),
        (ConnectionResetError(), None),
        (OSError(28, "No space left on device"), "cannot go on: .* No space left"),
        (SetupError("The runner refuses this agent."), "refuses"),
    ],
)
def test_a_load_machine_tells_the_end_of_a_run_from_a_failure(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, complaint: str | None
) -> None:
    answers, notices = iter([None, failure]), list[str]()

    def serve(*_: object) -> None:
        if (answer := next(answers)) is not None:
            raise answer

    monkeypatch.setattr(agent, "_serve_cluster_start", serve)

    with pytest.raises(SetupError, match=complaint) if complaint else nullcontext():
        agent.join("127.0.0.1:7070", TOKEN, "1", notices.append)

    assert notices == ([] if complaint else ["the run is over"])


def test_the_rate_of_others_is_what_came_between_two_looks() -> None:
    assert trial_record.other_rate((1_000_000_000, 100), (3_000_000_000, 350)) == 125.0
    assert trial_record.other_rate(None, (3_000_000_000, 350)) is None
    assert trial_record.other_rate((1_000_000_000, 100), None) is None
