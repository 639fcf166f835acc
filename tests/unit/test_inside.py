"""Which cluster a trial runs on, and what becomes of those that a cluster leaves behind."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.errors import ClusterError, MissingAgentsError
from bench.model import Case, Cluster, Load, Pacing, Trial
from bench.records.trial import TrialRecord
from bench.run import inside
from bench.run.folder import RunFolder, create
from bench.run.inside import Runner
from tests.records import trial_record

CASE = Case(
    *("memory", "memory", {}, Cluster("memory", "1", {}), 1, {}, {}, {}),
    Load(1, 100, Pacing(), 1, 0, 0.0, 1.0, None),
)
TRIALS = [Trial(number, 0, CASE) for number in range(3)]


class Told:
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.finished_as: list[tuple[int, str]] = []
        self.clusters = 0

    def cluster(self, cluster: Cluster) -> None:
        self.clusters += 1

    def trial(self, trial: Trial) -> None:
        """Nobody looks on."""

    def count_trial(self, trial: Trial, record: TrialRecord) -> None:
        self.finished_as.append((trial.number, record.state))


class Clusters:
    """Stands for clusters and what runs on them: those starts fail, those trials do, and the topics of those stay."""

    def __init__(self, no_start: Collection[int], failing: Collection[int], lasting: Collection[int]) -> None:
        self.logs: list[str] = []
        self.warmed_up: list[int] = []
        self.cleared: list[int] = []
        self._no_start = no_start
        self._failing = failing
        self._lasting = lasting

    @contextmanager
    def run_cluster(self, cluster: Cluster, _where: Path, logs: Path) -> Iterator[Any]:
        self.logs.append(logs.name)
        if len(self.logs) in self._no_start:
            raise ClusterError("broker-1 did not come up.")
        yield SimpleNamespace(start_s=1.0, spec=cluster, backend=None)

    def bench(self, *_: object) -> Any:
        return SimpleNamespace(run=self._run, clear=self._clear)

    def warm_up(self, _testbed: object, cases: Sequence[Case], _most_s: float, _working: Path) -> list[Any]:
        self.warmed_up.append(len(cases))
        return []

    def _run(self, trial: Trial, _live: object) -> TrialRecord:
        state = "failed" if trial.number in self._failing else "finished"
        return trial_record(state=state, reason=f"Trial {trial.number} broke off.")

    def _clear(self, trial: Trial) -> None:
        if trial.number in self._lasting:
            raise ClusterError("Deleting a topic: it is still there.")
        self.cleared.append(trial.number)


Make = Callable[..., tuple[Runner, Clusters]]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create(tmp_path, "test", "quick")


class NoLoad:
    """Takes the place of the load processes: nothing is sent here."""

    def start_processes(self, *_: object) -> AbstractContextManager[None]:
        return nullcontext()


class NoAgents:
    """Load machines that do not join."""

    def start_processes(self, *_: object) -> AbstractContextManager[None]:
        raise MissingAgentsError("1 of 3 agents joined.")


@pytest.fixture
def make(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(
        no_start: Collection[int] = (),
        failing: Collection[int] = (),
        lasting: Collection[int] = (),
        warm_up_s: float = 1.0,
    ) -> tuple[Runner, Clusters]:
        clusters, progress = Clusters(no_start, failing, lasting), Told()
        monkeypatch.setattr(inside, "run_cluster", clusters.run_cluster)
        monkeypatch.setattr(inside, "warm_up", clusters.warm_up)
        monkeypatch.setattr(inside, "Bench", clusters.bench)
        as_progress: Any = progress
        load: Any = NoLoad()
        return Runner(folder, 1, warm_up_s, as_progress, load), clusters

    return make


def finished_as(runner: Runner) -> list[tuple[int, str]]:
    told: Any = runner.progress
    found: list[tuple[int, str]] = told.finished_as
    return found


def test_without_its_agents_a_run_stops_and_no_trial_is_stored(make: Make, folder: RunFolder) -> None:
    runner, _ = make()
    runner.load = cast("Any", NoAgents())

    with pytest.raises(MissingAgentsError):
        runner.run([[(CASE.cluster, list(TRIALS))]])

    assert finished_as(runner) == []
    assert folder.done_trials() == set()


def test_after_a_failed_trial_the_rest_run_on_a_fresh_cluster(make: Make) -> None:
    runner, clusters = make(failing=[1])

    runner.run([[(CASE.cluster, TRIALS)]])

    assert finished_as(runner) == [(0, "finished"), (1, "failed"), (2, "finished")]
    assert clusters.logs == ["00-memory", "01-memory"]
    assert clusters.warmed_up == [3, 1]
    assert [started["system"] for started in runner.clusters] == ["memory", "memory"]


def test_clusters_that_do_not_come_up_side_by_side_are_run_alone(make: Make) -> None:
    """The second start is the second cluster's; then each is started alone, and that of the second fails again."""
    runner, clusters = make(no_start=[2, 4])
    other = replace(CASE.cluster, system="other")
    theirs = [replace(trial, number=9, case=replace(CASE, cluster=other)) for trial in TRIALS[:1]]

    runner.run([[(CASE.cluster, TRIALS), (other, theirs)]])

    assert clusters.logs == ["00-memory", "01-other", "02-memory", "03-other"]
    assert finished_as(runner) == [*((trial.number, "finished") for trial in TRIALS), (9, "failed")]


def test_a_cluster_is_not_warmed_up_where_that_is_to_take_no_time(make: Make) -> None:
    runner, clusters = make(warm_up_s=0.0)

    runner.run([[(CASE.cluster, TRIALS)]])

    assert clusters.warmed_up == []
    assert len(finished_as(runner)) == 3


def test_a_trial_whose_topics_stay_has_finished_and_the_rest_run_on_a_fresh_cluster(make: Make) -> None:
    runner, clusters = make(lasting=[0])

    runner.run([[(CASE.cluster, TRIALS)]])

    assert finished_as(runner) == [(number, "finished") for number in range(3)]
    assert len(clusters.logs) == 2
    assert clusters.cleared == [1]  # nobody comes after the last


def test_no_cluster_is_started_for_nobody(make: Make) -> None:
    runner, clusters = make(failing=[2])

    runner.run([[(CASE.cluster, TRIALS)]])

    assert len(finished_as(runner)) == 3
    assert len(clusters.logs) == 1


def test_trials_whose_cluster_does_not_come_up_have_failed_and_the_next_group_runs(
    make: Make, folder: RunFolder
) -> None:
    runner, clusters = make(no_start=[1])

    runner.run([[(CASE.cluster, TRIALS[:2])], [(CASE.cluster, TRIALS[2:])]])

    assert finished_as(runner) == [(0, "failed"), (1, "failed"), (2, "finished")]
    assert len(clusters.logs) == 2
    assert folder.done_trials() == {0, 1}
    stored = folder.read("trials/0001/trial.json")
    assert (stored["state"], stored["verdict"]) == ("failed", "invalid")
    assert stored["reason"] == "The cluster did not start. broker-1 did not come up."


def test_a_cluster_that_does_not_come_up_again_leaves_the_rest_failed(make: Make, folder: RunFolder) -> None:
    runner, clusters = make(no_start=[2], failing=[0])

    runner.run([[(CASE.cluster, TRIALS)]])

    assert finished_as(runner) == [(0, "failed"), (1, "failed"), (2, "failed")]
    assert len(clusters.logs) == 2
    assert folder.done_trials() == {1, 2}


@pytest.mark.parametrize(
    ("trials", "seconds", "expected"), [(12, 60.0, 60.0), (3, 15.0, 60.0), (0, 0.1, 40.0)]
)
def test_the_time_of_a_round_is_that_of_as_many_trials(trials: int, seconds: float, expected: float) -> None:
    """A plan of two rounds of 12 trials, estimated at 80 s; of the last round some trials were there already."""
    plan: Any = SimpleNamespace(trials=range(24), rounds=2, seconds=lambda: 80.0)

    assert inside._round_s(plan, trials, seconds) == expected
