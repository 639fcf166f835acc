"""The half of a run that the user starts: check, make the run folder, run inside, analyse, report."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench import numbers
from bench.backends import sandbox
from bench.backends.sandbox import SharedNamespaces
from bench.errors import BenchError, EventLogError, SetupError
from bench.model import DOCKER, PROCESS, Verdict
from bench.run import (
    containers,
    estimate,
    external_clusters,
    fault_check,
    machine_lock,
    preflight,
    stored_runs,
)
from bench.run import folder as run_folder
from bench.run.folder import RunFolder, now_utc
from bench.run.load_machines import AgentOptions
from bench.run.manifest import differences, manifest, ran_on
from bench.run.plan import Plan, plan, replan
from bench.run.shared_clusters import side_by_side
from bench.scenario import families, find, load, standalone_text

_WEB = ("127.0.0.1", 8089)


def prepare(  # noqa: PLR0913, PLR0917 - what a user may choose
    name: str,
    profile: str,
    overrides: Sequence[str],
    seed: int,
    clusters: Sequence[Path] = (),
    backend: str = PROCESS,
) -> Plan:
    """Read, check and plan a scenario.

    With the files of external `clusters` it is planned for these, and each is asked for its facts.
    """
    loaded = load(find(name), profile, overrides)
    if clusters:
        return plan(loaded, seed, external=external_clusters.connect(clusters))
    return plan(loaded, seed, backend=backend)


def start(
    run_plan: Plan, out: Path, *, web: bool, agents: AgentOptions | None = None, store: str | None = None
) -> int:
    """Run a plan from its beginning; return the exit status.

    It is made in a folder below `out`; once it is over it is moved to the URI `store`, if there is one.
    """
    _check_agents(run_plan, agents)
    _check_store(store)
    loaded = run_plan.loaded
    with _machine(run_plan), _listener(agents) as listener:
        _check(run_plan, out)
        images = containers.prepare(run_plan)
        folder = run_folder.create(out, loaded.scenario.name, loaded.profile)
        _require_unused_topics(folder, run_plan)
        (folder.path / "scenario.yaml").write_text(standalone_text(loaded.file), encoding="utf-8")
        external_clusters.keep(folder, run_plan.external)
        folder.write("plan.json", run_plan.document())
        folder.write("manifest.json", manifest(folder, run_plan, agents.agents if agents else 0, images))
        status = _run(folder, run_plan, loaded.scenario.budget, web=web, agents=_arguments(agents, listener))
    _store(folder, store)
    return status


def _require_unused_topics(folder: RunFolder, run_plan: Plan) -> None:
    """Refuse a run whose topics are there already, and leave no folder of it. Raises ClusterError."""
    try:
        external_clusters.require_unused(run_plan.external, folder.path.name)
    except BenchError:
        shutil.rmtree(folder.path)
        raise


def _check_store(store: str | None) -> None:
    """Refuse a URI that cannot be written to, before anything starts. Raises SetupError."""
    if store is not None:
        stored_runs.require_writable(store)


def _store(folder: RunFolder, store: str | None) -> None:
    """Move a run that is over to where it is kept."""
    if store is None:
        return
    document = folder.read("manifest.json")
    if document.get("ended_utc") or document.get("imported_utc"):
        uri = stored_runs.store(folder, store)
        shutil.rmtree(folder.path)
        Console().print(f"stored at {uri}", soft_wrap=True, highlight=False)


def resume(
    folder: RunFolder,
    *,
    web: bool,
    budget_s: float | None = None,
    agents: AgentOptions | None = None,
    store: str | None = None,
) -> int:
    """Go on with a run where it stopped; return the exit status.

    With `budget_s` rounds are added for so long, also to a run that is finished; without it what its own budget left.

    Raises EventLogError where the suite, its libraries or the machine are others now: one run is of one kind.
    """
    run_plan = replan(folder)
    _check_agents(run_plan, agents)
    _check_store(store)
    with _machine(run_plan), _listener(agents) as listener:
        _check(run_plan, folder.path.parent)
        ground = ran_on(folder, run_plan, agents.agents if agents else 0, containers.prepare(run_plan))
        unlike = differences(folder.read("manifest.json"), ground)
        if unlike := [*unlike, *external_clusters.changes(run_plan.external)]:
            raise EventLogError(
                f"{folder.path / 'manifest.json'}: this run was started in a different environment: "
                f"{'; '.join(unlike)}. Its results would not be comparable. Restore what the manifest names, or start "
                "a new run."
            )
        budget_s = _left_s(folder, run_plan) if budget_s is None else budget_s
        status = _run(folder, run_plan, budget_s, web=web, agents=_arguments(agents, listener))
    _store(folder, store)
    return status


def _left_s(folder: RunFolder, run_plan: Plan) -> float | None:
    """Return how much of its budget a run has left; None where it has none."""
    budget_s = run_plan.loaded.scenario.budget
    spent_s = (folder.read("manifest.json").get("timings_s") or {}).get("total", 0.0)
    return None if budget_s is None else max(0.0, budget_s - spent_s)


def _machine(run_plan: Plan) -> AbstractContextManager[None]:
    """Hold the machine where a plan has servers: before the folder is made, whose files another run would measure."""
    servers = any(trial.case.cluster.nodes for trial in run_plan.trials)
    return machine_lock.on_machine(run_plan.loaded.scenario.name) if servers else nullcontext()


def _check(run_plan: Plan, out: Path) -> None:
    """Refuse what this machine cannot do before anything starts, then fetch server versions that are not there yet."""
    cases = [trial.case for trial in run_plan.trials]
    fault_check.require(cases)
    written_bytes = max(map(preflight.trial_bytes, cases), default=0)
    preflight.check(side_by_side(cases), out, written_bytes)
    own_clusters = [case.cluster for case in cases if not case.cluster.external]
    preflight.fetch_missing(dict.fromkeys((cluster.system, cluster.version) for cluster in own_clusters))


def _check_agents(run_plan: Plan, agents: AgentOptions | None) -> None:
    """Refuse what load machines cannot do. Raises SetupError."""
    if agents is None:
        return
    cases = [trial.case for trial in run_plan.trials]
    reasons = {
        "the servers of this run are reached from this machine only: add --cluster FILE": not run_plan.external,
        "agents load one cluster at a time: give one --cluster": len(run_plan.external) > 1,
        "a search for capacity reads the event log meanwhile, so its load runs on this machine": any(
            case.capacity for case in cases
        ),
        "load.processes counts on this machine: start several agents on a machine instead": any(
            case.load.processes > 1 for case in cases
        ),
        f"the load has fewer producers than --agents {agents.agents}": any(
            case.load.producers < agents.agents for case in cases
        ),
    }
    for reason, applies in reasons.items():
        if applies:
            message = f"--agents: {reason}"
            raise SetupError(message)


def _listener(agents: AgentOptions | None) -> AbstractContextManager[socket.socket | None]:
    """Listen for agents, if the load is made by any, before there is a run folder."""
    return nullcontext() if agents is None else agents.listen()


def _arguments(agents: AgentOptions | None, listener: socket.socket | None) -> _Inside:
    """Return what the inner half needs to have agents join."""
    if agents is None or listener is None:
        return _Inside()
    descriptor = listener.fileno()
    return _Inside(
        (
            "--agents",
            str(agents.agents),
            "--agents-fd",
            str(descriptor),
            "--token-file",
            str(agents.token_file),
        ),
        (descriptor,),
        f"waiting for {numbers.plural(agents.agents, 'agent')} at {agents.address}",
    )


@dataclass(frozen=True, slots=True)
class _Inside:
    """What the inner half is given: arguments, open descriptors; `notice` is for the user."""

    arguments: Sequence[str] = ()
    descriptors: Sequence[int] = ()
    notice: str = ""


def _run(folder: RunFolder, run_plan: Plan, budget_s: float | None, *, web: bool, agents: _Inside) -> int:
    console = Console(stderr=True)
    arguments = [str(folder.path), *agents.arguments]
    if budget_s is not None:
        arguments += ["--budget-s", str(max(0.0, budget_s - estimate.ANALYSIS_S))]
    if agents.notice:
        console.print(agents.notice, highlight=False, soft_wrap=True)
    with socket.socket() as listener:
        keep = list(agents.descriptors)
        if web:
            _listen(listener)
            console.print(f"live view: http://{_WEB[0]}:{_WEB[1]}")
            keep, arguments = [*keep, listener.fileno()], [*arguments, "--web-fd", str(listener.fileno())]
        with machine_lock.on_folder(folder):
            folder.amend("manifest.json", ended_utc=None)  # it may be one that had ended, and goes on
            status = sandbox.run("bench.run.inside", arguments, keep, _shared_namespaces(run_plan))
    if status:
        done, trial_count = len(folder.done_trials()), len(folder.read("plan.json")["trials"])
        console.print(
            f"stopped after {done} of {trial_count} trials; their measurements are kept. Continue with:"
        )
        console.print(f"  bench run --resume {folder.path}", soft_wrap=True)
        return status
    folder.amend("manifest.json", ended_utc=now_utc())
    try:
        report(folder)
    except BenchError:
        console.print("the measurements are kept. Fix the error below, then run:")
        console.print(f"  bench report {folder.path}", soft_wrap=True)
        raise
    if without := _without_valid_trial(folder):
        console.print(f"no trial of {', '.join(without)} is valid: the report says why", soft_wrap=True)
        return 1
    return 0


def _shared_namespaces(run_plan: Plan) -> SharedNamespaces:
    if run_plan.backend == DOCKER:
        return SharedNamespaces.EVERYTHING
    return SharedNamespaces.NETWORK if run_plan.external else SharedNamespaces.NOTHING


def _without_valid_trial(folder: RunFolder) -> list[str]:
    """Return the cases that the results say nothing about: the analysis may trust a trial less than trial.json."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - loads only where there are results

    trials = pq.read_table(
        folder.path / "results" / "trials.parquet", columns=["case", "verdict"]
    ).to_pylist()
    valid = {trial["case"] for trial in trials if trial["verdict"] == Verdict.VALID}
    return [case for case in dict.fromkeys(trial["case"] for trial in trials) if case not in valid]


def _listen(listener: socket.socket) -> None:
    """Listen outside the sandbox, so that a browser out here reaches the page served in there."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(_WEB)
    except OSError as error:
        message = f"--web: cannot listen on {_WEB[0]}:{_WEB[1]}: {error}"
        raise SetupError(message) from error
    listener.listen()


def report(folder: RunFolder, *, trial_pages: bool = False) -> None:
    """Analyse the event log, write both reports, and a page for each trial if asked; print answer, cases and paths."""
    from bench.analysis import analyse  # noqa: PLC0415 - Spark loads only when something is analysed
    from bench.report import terminal_summary, write_report  # noqa: PLC0415 - as above

    console = Console()
    if folder.trials.is_dir() and not folder.done_trials():
        message = f"{folder.path}: there is no trial to report on"
        raise BenchError(message)
    _require_log(folder, "its results cannot be computed again")
    with console.status("analysing the event log"):
        analyse(folder.path)
    with console.status("drawing the report"):
        html, pdf = write_report(folder.path, trial_pages=trial_pages)
    console.print(terminal_summary(folder.path))
    _show(html, pdf)


def explain(folder: RunFolder) -> None:
    """Print a run's answer as Markdown, from its results."""
    from bench.report import explain as markdown  # noqa: PLC0415 - as above

    print(markdown(folder.path), end="")  # noqa: T201 - a console would wrap its lines


def _require_log(folder: RunFolder, so: str) -> None:
    if not any((folder.trials / f"{number:04d}" / "sends").is_dir() for number in folder.done_trials()):
        raise EventLogError(
            f"{folder.path}: its event log is not here (it was published without it, or read in from elsewhere), "
            f"so {so}"
        )


def export(folder: RunFolder, to: Path | None) -> None:
    """Write a run's results for other tools, and print where."""
    from bench.analysis import export as write  # noqa: PLC0415 - as above

    _require_log(folder, "there is nothing to export but its results/trials.csv")
    console = Console(stderr=True)
    with console.status("reading the event log"):
        tidy, periods, *trial_files = write(folder.path, to or folder.path / "export")
    if left_out := len(folder.done_trials()) - len(trial_files):
        console.print(f"{numbers.plural(left_out, 'trial')} not valid: in {tidy.name} only")
    _show(tidy, periods.parent)


def read_in(folder: Path, out: Path, store: str | None = None) -> None:
    """Make a run of a folder of the OpenMessaging Benchmark's result files, and print where it is."""
    from bench.analysis.exchange import omb_files  # noqa: PLC0415 - as above

    files = omb_files.files_in(folder)
    omb_runs = omb_files.read(files)
    _check_store(store)
    made = run_folder.create(out, folder.resolve().name, "omb")
    omb_files.write(omb_runs, made.path)
    made.write(
        "manifest.json",
        {
            "format": 1,
            "run": made.path.name,
            "scenario": folder.resolve().name,
            "profile": "omb",
            "title": f"OpenMessaging Benchmark: {len(files)} results",
            "question": "",
            "imported_utc": now_utc(),
            "expectations": [],
        },
    )
    _show(made.path)
    _store(made, store)


def report_family(family: str, out: Path) -> None:
    """Write a family's page from the latest run of each of its scenarios, and print its paths."""
    from bench.report.pages import family as page  # noqa: PLC0415 - as above

    scenarios_by_family = families()
    if family not in scenarios_by_family:
        message = f"there is no family {family!r}; one of {', '.join(scenarios_by_family)}"
        raise BenchError(message)
    _show(*page.write(family, scenarios_by_family[family], out))


def _show(*paths: Path) -> None:
    for path in paths:
        Console().print(str(path), soft_wrap=True, highlight=False)
