"""The whole way, from a YAML file to a PDF, as a user goes it: `bench run` in a process of its own."""

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.backends.disks import why_no_power_cut
from bench.run import outside
from bench.run.folder import RunFolder
from tests.whole_runs import arguments, bench, mentioning, only, rows, scenario, until, without_analysis

pytestmark = pytest.mark.integration


def test_a_node_that_does_not_start_fails_its_trials_with_the_end_of_its_log_and_the_others_go_on(
    measured: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    text = """\
systems:
  memory: {}
  nats: {nodes: {server: 1}, server: {max_pending: 1kb}}
duration: 500ms
repeats: 1
"""

    trials = {row["system"]: row for row in rows(measured("broken", text, status=1), "trials")}

    assert "no trial of nats is valid" in capfd.readouterr().err
    assert trials["memory"]["verdict"] == "valid"
    assert trials["nats"]["state"] == "failed"
    assert "The end of its log" in trials["nats"]["reason"]
    assert "cannot be higher than max_pending" in trials["nats"]["reason"]


def test_both_systems_wait_for_an_emulated_disk_and_lose_nothing(measured: Callable[..., Path]) -> None:
    text = """\
systems:
  kafka: {nodes: {broker: 2}, topic: {replicas: 2, flush.messages: 1}, producer: {acks: all}}
  pulsar: {nodes: {bookie: 2, broker: 1}, topic: {quorums: 2-2-2}}
disk: {emulated_fsync: 5ms}
duration: 1s
repeats: 1
"""

    run = measured("both", text)

    trials = rows(run, "trials")
    assert {row["system"] for row in trials} == {"kafka", "pulsar"}
    for row in trials:
        assert row["verdict"] == "valid", row["reason"]
        assert int(row["acked"]) == int(row["received"]) > 0
        assert int(row["lost"]) == int(row["duplicates"]) == int(row["out_of_order"]) == 0
        assert 5e6 < float(row["service_p50_ns"]) <= float(row["service_p99_ns"])
        assert float(row["fsync_ns"]) > 5e6
        held = json.loads((run / "trials" / f"{int(row['trial']):04d}" / "trial.json").read_text())["disk"][
            "held"
        ]
        for keeper in {"kafka": ("broker-1", "broker-2"), "pulsar": ("bookie-1", "bookie-2")}[row["system"]]:
            # Half of the sends came while the trial settled; those fsyncs are not counted.
            assert held[keeper]["calls"] >= int(row["acked"]) / 4
            assert held[keeper]["p50"] >= 5e6


BROKEN = """\
systems:
  nats:
    nodes: {{server: 3}}
    server: {{sync_interval: always}}
    topic: {{replicas: 3}}
    faults:
      - {{name: dark, when: {{acks: 100}}, {fault}: server-1}}
      - {{name: cut, when: {{after: 100ms}}, isolate: {{target: server-2, from: all server}}}}
load: {{rate: 100, message_bytes: 100}}
duration: 10s
repeats: 1
"""


SERVERS = {"server-1", "server-2", "server-3"}


def servers(run: Path) -> set[str]:
    """The servers of a run that have a process."""
    command_lines = [" ".join(arguments(process)) for process in psutil.process_iter()]
    of_run = [line for line in command_lines if str(run) in line]
    return {name for name in SERVERS if any(f"/{name}/" in line for line in of_run)}


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_while_something_is_broken_leaves_nothing_and_goes_on(
    tmp_path: Path, ending: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BROKEN.format(fault="kill" if why_no_power_cut() else "power-loss")
    process = bench("run", scenario(tmp_path, "broken", text), "--out", tmp_path / "out")
    until(lambda: (tmp_path / "out").is_dir() and len(list((tmp_path / "out").iterdir())) == 1)
    run = only(tmp_path / "out")
    until(lambda: servers(run) == SERVERS)
    until(lambda: servers(run) == SERVERS - {"server-1"})  # dark, and 0.1 s later cut
    time.sleep(1.0)

    process.send_signal(ending)
    process.wait(60)

    until(lambda: not mentioning(run))
    devices = Path("/sys/block").glob("loop*/loop/backing_file")
    until(lambda: not any(str(run) in device.read_text(encoding="utf-8") for device in devices))
    assert str(run) not in Path("/proc/mounts").read_text(encoding="utf-8")
    assert not list((run / "trials").glob("[0-9]*"))
    if ending is signal.SIGKILL:  # what it left in the run's own folder goes with the next one
        without_analysis(monkeypatch)
        assert outside.resume(RunFolder(run), web=False) == 0
        trial = RunFolder(run).read("trials/0000/trial.json")
        assert trial["verdict"] == "valid", trial["reason"]
    assert not (run / "nodes").exists()


def test_what_a_killed_application_loses_or_doubles_hangs_on_when_it_commits(
    measured: Callable[..., Path],
) -> None:
    """It is killed twice, each time a while after it began: between two batches a kill loses and doubles nothing."""
    text = """\
systems:
  kafka:
    nodes: {controller: 1, broker: 1}
    topic: {replicas: 1}
    processor: {commit: [before, after], batch: 300, work: 3ms}
    faults:
      - {name: killed, when: {acks: 1500}, kill: processor, heal: {after: 500ms}}
      - {name: killed again, when: {acks: 3500}, kill: processor, heal: {after: 500ms}}
load: {rate: 500, window: 100, message_bytes: 100}
duration: 8s
repeats: 1
"""
    before, after = sorted(
        rows(measured("application", text), "trials"), key=lambda row: row["commit"], reverse=True
    )

    assert (before["verdict"], after["verdict"]) == ("valid", "valid")
    assert int(before["lost"]) > 0
    assert int(before["duplicates"]) == 0
    assert int(after["lost"]) == 0
    assert int(after["duplicates"]) > 0


def test_a_full_read_that_stands_still_ends_by_rule_and_tells_where(measured: Callable[..., Path]) -> None:
    """Every other entry has its only copy on the bookie that is killed for good."""
    text = """\
systems:
  pulsar:
    nodes: {zookeeper: 1, bookie: 3, broker: 1}
    topic: {quorums: 2-1-1}
    broker: {dispatcherReadFailureBackoffMaxTimeInMs: 2000}
    faults: [{name: gone, when: {acks: 500}, kill: bookie 1, heal: never}]
load: {rate: 500, window: 50, message_bytes: 100}
consumers: 0
duration: 4s
repeats: 1
"""
    run = measured("blocked", text)

    (trial,) = rows(run, "trials")
    assert (trial["verdict"], trial["account_complete"], trial["lost"]) == ("valid", "false", "")
    assert int(trial["unread"]) > 0
    assert int(trial["received"]) + int(trial["unread"]) >= int(trial["acked"])
    document = json.loads((run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8"))
    assert re.search(r"nothing came for \d+ s, and .*partition 0", document["verify"]["reason"])
