"""What a trial keeps of what it measured when its cluster does not become whole again."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.errors import ClusterError
from bench.load.commands import Verify
from bench.model import Case, Cluster, Load, Pacing, Topic, Trial
from bench.run import trial
from bench.run.folder import RunFolder
from bench.run.testbed import Testbed

BROKEN = ({"name": "killed", "kill": "broker-1", "after": 0},)
CASE = Case(
    *("memory", "memory", {}, Cluster("memory", "1", {}), 1, {}, {}, {}),
    Load(1, 100, Pacing(), 0, 0, 0.0, 1.0, None),
    faults=BROKEN,
    telemetry=False,
)
SENT = {
    "sent": 2,
    "acked": 2,
    "failed": 0,
    "unknown": 0,
    "stalled": 0,
    "due_unsent": 0,
    "never_told": 0,
    "window": {"start_ns": 1, "end_ns": 2},
    "client": {},
    "producer": {},
}
NEVER_WHOLE = "Within 60 s broker-1 did not see all in sync."


class Admin:
    """Of a cluster that never becomes whole again, or one whose topic nobody can make."""

    def __init__(self, *, makes: bool) -> None:
        self._makes = makes

    def create_topic(self, _: Topic) -> None:
        if not self._makes:
            raise ClusterError("Nobody answers.")

    def effective(self, _: Topic) -> dict[str, object]:
        return {}

    def layout(self, _: Topic) -> list[dict[str, Any]]:
        return []

    def lift_expiry(self, _: Topic) -> None:
        """Nothing expires."""

    def await_settled(self, _: Topic) -> None:
        raise ClusterError(NEVER_WHOLE)


class Worker:
    """A load process: what was sent, and a read that reaches the end there is."""

    def call(self, command: Any, *_: object, **__: object) -> dict[str, Any]:
        return {"complete": True, "reason": None, "received": 1} if isinstance(command, Verify) else SENT


class Steps:
    """A timeline whose faults came and were healed."""

    steps = BROKEN
    all_healed = True
    acks = ()

    def __init__(self, *_: object) -> None:
        """Nothing is broken here."""

    def take_progress(self, _: object) -> None:
        """It has no steps left."""

    def finish(self) -> None:
        """It has none."""

    def abandon(self) -> None:
        """It has none."""


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *, makes: bool = True) -> dict[str, Any]:
    """Run a trial on it; return its trial.json."""
    cluster: Any = SimpleNamespace(
        admin=Admin(makes=makes),
        endpoint="",
        nodes=[],
        jvms={},
        disks=SimpleNamespace(set_and_measure=lambda _: None, count=lambda _: {}, held_since=lambda _: {}),
        sizes=SimpleNamespace(set_and_measure=lambda _: None),
        backend=SimpleNamespace(supervise=lambda *_: nullcontext(), client=None),
        system=SimpleNamespace(pause_s=lambda _: 0.0),
        alive=lambda: None,
    )
    load: Any = SimpleNamespace(producing=Worker(), consuming=Worker(), correct_log=lambda *_: 0)
    monkeypatch.setattr(trial, "Timeline", Steps)
    monkeypatch.setattr(trial, "probe", dict)
    monkeypatch.setattr(trial, "read_steps", lambda _: ())
    (folder / "trials").mkdir()
    trial.Bench(Testbed(cluster, load, RunFolder(folder), seed=1), "00-memory").run(Trial(0, 0, CASE), print)
    document: dict[str, Any] = json.loads((folder / "trials" / "0000" / "trial.json").read_text())
    return document


def test_a_cluster_that_never_becomes_whole_again_leaves_losses_open_and_the_rest_as_it_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = run(tmp_path, monkeypatch)

    assert (told["state"], told["verdict"], told["window"]) == ("finished", "unknown", SENT["window"])
    assert told["verify"]["complete"] is False
    assert told["verify"]["reason"].endswith(NEVER_WHOLE)


def test_a_trial_without_a_topic_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run(tmp_path, monkeypatch, makes=False)

    assert (told["state"], told["reason"], told["window"]) == ("failed", "Nobody answers.", None)
