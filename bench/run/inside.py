"""The half of a run that lives in the sandbox: `python -m bench.run.inside RUN` runs the missing trials."""

from __future__ import annotations

import argparse
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.backends import cores, sandbox
from bench.backends.external_backend import ExternalBackend
from bench.errors import BenchError, MissingAgentsError
from bench.load.agent import read_token
from bench.load.joined_agents import Invitation
from bench.load.without_pandas import keep_pandas_out
from bench.model import Cluster, Trial
from bench.run import trial_record
from bench.run.cluster import LiveCluster, cluster_folder, run_cluster
from bench.run.cluster_warm_up import warm_up
from bench.run.external_clusters import delete_topics, own_topics, topics_of_run
from bench.run.folder import RunFolder
from bench.run.interleaved_trials import InterleavedTrials
from bench.run.load_machines import LoadPlan, suite_version
from bench.run.plan import Plan, Start, cluster_key, longer, replan
from bench.run.progress import Progress
from bench.run.run_budget import FIRST_ROUNDS, Budget, Evaluation
from bench.run.testbed import Testbed
from bench.run.trial import Bench

_SWITCH_S = 0.0005
"""Threads that answer for a server's fsync wait no longer than this for one that looks at processes."""


@dataclass
class Runner:
    """Runs the missing trials of one run folder.

    `created` has the names of the topics that the run has created on external clusters.
    """

    folder: RunFolder
    seed: int
    warm_up_s: float
    progress: Progress
    load: LoadPlan
    clusters: list[dict[str, object]] = field(default_factory=list)
    created: set[str] = field(default_factory=set)

    def run(self, starts: Sequence[Sequence[Start]]) -> None:
        """Run the clusters of each start side by side; after a failed trial the rest get fresh clusters.

        Where clusters do not come up side by side, each is run alone.
        """
        for start in starts:
            together = [trial for _, trials in start for trial in trials]
            failure = self._until_done(together)
            if failure is not None and len(start) > 1:
                self.run(
                    [
                        [(cluster, [trial for trial in trials if trial in together])]
                        for cluster, trials in start
                    ]
                )
            elif failure is not None:
                self._give_up(together, failure)

    def _until_done(self, left: list[Trial]) -> str | None:
        """Run trials on fresh clusters until none is left; return why a start of them ran none, if one did."""
        while left:
            trial_count = len(left)
            failure = self._on_fresh_clusters(left)
            if failure is not None and len(left) == trial_count:
                return failure
        return None

    def _on_fresh_clusters(self, left: list[Trial]) -> str | None:
        """Run trials off the front of `left` until none is left or one failed; say why it did."""
        clusters = {cluster_key(trial.case.cluster): trial.case.cluster for trial in left}
        try:
            with ExitStack() as stack:
                if any(cluster.pinned for cluster in clusters.values()):
                    stack.enter_context(cores.suite_on(cores.split().load))
                processes = left[0].case.load.processes
                testbeds = dict(
                    self._start_testbed(cluster, processes, stack) for cluster in clusters.values()
                )
                if left[0].case.load.slices is not None:
                    return self._run_interleaved(testbeds, left)
                ((logs, testbed),) = testbeds.items()
                self._warm_up(testbed, left)
                return self._one_by_one(Bench(testbed, logs), left)
        except MissingAgentsError:
            raise
        except BenchError as error:
            return str(error)

    def _one_by_one(self, bench: Bench, left: list[Trial]) -> str | None:
        while left:
            trial = left[0]
            record = bench.run(trial, self.progress.trial(trial))
            del left[0]
            self.progress.count_trial(trial, record)
            if record.state == "failed":
                return record.reason
            if left:
                bench.clear(trial)
        return None

    def _start_testbed(self, cluster: Cluster, processes: int, stack: ExitStack) -> tuple[str, Testbed]:
        """Start a cluster and its load processes; return the name of its folder of logs, and the testbed."""
        number = len(list(self.folder.logs.glob("[0-9]*")))
        nodes_folder, logs = cluster_folder(self.folder, number, cluster)
        logs.mkdir(parents=True)
        self.progress.cluster(cluster)
        if cluster.external:
            self._delete_topics(cluster)  # those of a part of the run that was killed
            stack.callback(self._delete_topics, cluster)
        load = stack.enter_context(self.load.start_processes(logs, processes))
        live = stack.enter_context(run_cluster(cluster, nodes_folder, logs))
        stack.callback(self._mend, live)
        return logs.name, Testbed(live, load, self.folder, self.seed, self.created)

    def _mend(self, live: LiveCluster) -> None:
        """Have nodes of others that are still broken mended; one that stays broken is said, whatever else happened."""
        if isinstance(live.backend, ExternalBackend):
            for failure in live.backend.mend():
                self.progress.warn(failure)

    def _delete_topics(self, cluster: Cluster) -> None:
        """Delete the run's topics on an external cluster; what stays there is said, and is no failure of a trial."""
        try:
            delete_topics(cluster, self.created)
        except BenchError as error:
            left = f"topics {own_topics(cluster, self.folder.path.name)}… may be left there: bench clean --cluster FILE"
            self.progress.warn(f"{error} {left}")

    def _run_interleaved(self, testbeds: Mapping[str, Testbed], left: list[Trial]) -> str | None:
        """Measure trials in slices; their own first slices warm the servers up."""
        interleaved = InterleavedTrials(testbeds, self.seed, self.warm_up_s * len(testbeds))
        try:
            return interleaved.run(left, self.progress.trial, self.progress.count_trial)
        finally:
            for testbed in testbeds.values():
                self._note_start(testbed, interleaved.settled_s, interleaved.settled)

    def _warm_up(self, testbed: Testbed, trials: Sequence[Trial]) -> None:
        """Warm a cluster up for the cases of its trials, and write down how long it took."""
        begun_s, rounds = time.monotonic(), list[dict[str, Any]]()
        if self.warm_up_s:
            rounds = warm_up(
                testbed, [trial.case for trial in trials], self.warm_up_s, self.folder.nodes / ".warm-up"
            )
        self._note_start(testbed, time.monotonic() - begun_s, rounds)

    def _note_start(self, testbed: Testbed, warm_up_s: float, rounds: Sequence[dict[str, Any]]) -> None:
        live = testbed.cluster
        started = {"system": live.spec.system, "start_s": round(live.start_s, 3)}
        self.clusters.append({**started, "warm_up_s": round(warm_up_s, 3), "warm_up": [*rounds]})

    def _give_up(self, trials: Sequence[Trial], reason: str) -> None:
        for trial in trials:
            record = trial_record.blank(trial)
            trial_record.fail(record, f"The cluster did not start. {reason}")
            self.folder.open_trial(trial.number)
            self.folder.close_trial(record)
            self.progress.count_trial(trial, record)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--web-fd", type=int)
    parser.add_argument("--agents", type=int, default=0)
    parser.add_argument("--agents-fd", type=int)
    parser.add_argument("--token-file", type=Path)
    parser.add_argument("--budget-s", type=float, help="for how long rounds are added until all is decided")
    return parser.parse_args()


def main() -> None:
    """Run inside the sandbox; exit 0 when every trial is there, whatever its verdict."""
    keep_pandas_out()
    arguments = _arguments()
    folder = RunFolder(arguments.run)
    sys.setswitchinterval(_SWITCH_S)
    try:
        sandbox.enter()
        load = LoadPlan(_invitation(arguments), arguments.web_fd)
        _run(folder, load, arguments.budget_s)
    except BenchError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: writing below {folder.path} failed: {error}. Finished trials are kept.")
    except KeyboardInterrupt:
        sys.exit(130)


def _invitation(arguments: argparse.Namespace) -> Invitation | None:
    """Return where agents join, by the listener that the outer half made; None where the load is made here."""
    if arguments.agents_fd is None:
        return None
    listener = socket.socket(fileno=arguments.agents_fd)
    return Invitation(listener, arguments.agents, read_token(arguments.token_file), suite_version())


def _run(folder: RunFolder, load: LoadPlan, budget_s: float | None) -> None:
    plan = replan(folder)
    begun = time.monotonic()
    with Progress(plan, folder.done_trials()) as progress, _sweep(folder):
        runner = Runner(
            folder,
            plan.seed,
            plan.loaded.scenario.warm_up.cluster,
            progress,
            load,
            created=_left_topics(folder, plan),
        )
        try:
            if budget_s is None:
                runner.run(plan.starts(_missing_trials(folder, plan)))
            else:
                _go_on(folder, plan, runner, Budget(budget_s))
        finally:
            _note_timings(folder, runner, time.monotonic() - begun, progress.measuring_s)


def _left_topics(folder: RunFolder, plan: Plan) -> set[str]:
    """Return the topics on external clusters that an earlier part of the run left; one that begins has left none.

    Raises ClusterError.
    """
    if not any(folder.logs.iterdir()):
        return set()
    clusters = [cluster.spec for cluster in plan.external.values()]
    return {name for spec in clusters for name in topics_of_run(spec, folder.path.name)}


def _missing_trials(folder: RunFolder, plan: Plan) -> list[Trial]:
    done = folder.done_trials()
    return [trial for trial in plan.trials if trial.number not in done]


def _go_on(folder: RunFolder, plan: Plan, runner: Runner, budget: Budget) -> None:
    """Run what is missing of the plan, then add rounds until all is decided or the budget is spent.

    The plan is written down before each round, so that it never has a round that nobody means to run.
    """
    evaluation = Evaluation(folder, folder.read("manifest.json").get("looks") or 0)
    least = plan.loaded.scenario.repeats
    while True:
        missing, begun = _missing_trials(folder, plan), time.monotonic()
        runner.run(plan.starts(missing))
        round_s = _round_s(plan, len(missing), time.monotonic() - begun)
        if plan.rounds >= max(least, FIRST_ROUNDS):
            outlook = evaluation.look()
            runner.progress.outlook(plan.rounds, outlook)
            if outlook.more_rounds == 0:
                return
        if not budget.allows(plan.rounds, round_s):
            return
        plan = longer(plan, plan.rounds + 1)
        folder.write("plan.json", plan.document())
        runner.progress.extend(plan)


def _round_s(plan: Plan, trials: int, seconds: float) -> float:
    """Return how long a round takes, by so many trials that took `seconds`; without any, as was estimated."""
    return seconds * len(plan.trials) / plan.rounds / trials if trials else plan.seconds() / plan.rounds


def _note_timings(folder: RunFolder, runner: Runner, seconds: float, measuring_s: float) -> None:
    old_timings = folder.read("manifest.json").get("timings_s") or {}
    folder.amend(
        "manifest.json",
        timings_s={
            "clusters": [*old_timings.get("clusters", []), *runner.clusters],
            "total": round(old_timings.get("total", 0.0) + seconds, 1),
            "measuring": round(old_timings.get("measuring", 0.0) + measuring_s, 1),
        },
    )


@contextmanager
def _sweep(folder: RunFolder) -> Iterator[None]:
    """Leave no half trial and no dead cluster's data behind."""
    folder.sweep()
    try:
        yield
    finally:
        folder.sweep()


if __name__ == "__main__":
    main()
