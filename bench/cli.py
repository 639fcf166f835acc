"""The command: verbs, nothing else."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench import scenario
from bench.errors import BenchError
from bench.load.agent import join, read_token
from bench.model import DOCKER, PROCESS, Change
from bench.run import (
    containers,
    external_clusters,
    external_table,
    outside,
    playground,
    preflight,
    publishing,
    run_comparison,
    stored_runs,
    table,
)
from bench.run import folder as run_folder
from bench.run.load_machines import AgentOptions, suite_version
from bench.run.manual import manual
from bench.scenario.values import budget_s
from bench.systems.registry import INSTALLED

app = typer.Typer(
    help="What does an acknowledgement cost, and what does it protect? Kafka and Pulsar, measured side by side.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the scenario; may be given again."),
]
_Clusters = Annotated[
    list[Path] | None,
    typer.Option(
        "--cluster",
        metavar="FILE",
        help="Use the cluster of this file (docs/how-to/external-clusters.md); once for each system.",
    ),
]
_Out = Annotated[
    str, typer.Option(help="Where run folders go: a folder, or a URI (docs/how-to/runs-at-a-uri.md).")
]
_LocalOut = Annotated[Path, typer.Option(help="Where run folders go.")]
_RUNS = str(run_folder.OUT)
_STATUS = {Change.WORSE: 1, Change.INCONCLUSIVE: 3}
"""How a comparison ends; 2 is for runs that are refused."""


@app.command("list", epilog="Example:  bench list")
def list_() -> None:
    """Show the scenarios that come with the suite."""
    shown = Table("scenario", "family", "what it asks")
    for name, file in scenario.names().items():
        loaded = scenario.load(file)
        shown.add_row(name, file.parent.name, loaded.scenario.question)
    Console().print(shown)


@app.command("help", epilog="Example:  bench help broker-kill")
def help_(
    name: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario's name or file.")],
) -> None:
    """Say what a scenario asks, runs and expects, how long it takes, and what its published run answered."""
    typer.echo(manual(name), nl=False)


@app.command(epilog="Example:  bench validate scenarios/durability/acks-sweep.yaml")
def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Scenario files or names.")],
) -> None:
    """Check scenario files in every profile, without starting anything."""
    wrong = 0
    for file in files:
        for profile in scenario.PROFILES:
            try:
                plan = outside.prepare(file, profile, (), 1)
            except BenchError as error:
                wrong += 1
                typer.echo(str(error), err=True)
                break
            typer.echo(f"{file}: {profile}: {len(plan.trials)} trials, {len(plan.left_out)} points left out")
            for reason, points in table.reasons(plan).items():
                typer.echo(f"    {points} of them: {reason}")
    if wrong:
        raise typer.Exit(1)


@app.command(epilog="Example:  bench run acks-sweep --profile quick --set load.producers=10")
def run(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A scenario's name or file.")] = None,
    profile: Annotated[str | None, typer.Option(help="quick, standard (without it) or full.")] = None,
    overrides: _Set = None,
    producers: Annotated[
        int | None, typer.Option(help="How many synchronous producers (load.producers).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides the order of the trials; without it, 1.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="Add rounds until all is decided, or for so long: 10m, 2h, unlimited.", metavar="TIME"
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Continue this run; takes only --budget, --out, --web and --agents beside it."
        ),
    ] = None,
    clusters: _Clusters = None,
    backend: Annotated[
        str | None,
        typer.Option(help="How servers run: process (without it) or docker (docs/how-to/docker.md)."),
    ] = None,
    agents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Load an external cluster from so many machines that join (docs/how-to/load-machines.md).",
        ),
    ] = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where agents join, with --agents.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What agents prove that they know, with --agents.")
    ] = None,
    out: _Out = _RUNS,
    *,
    web: Annotated[bool, typer.Option("--web", help="Show Locust's page at http://127.0.0.1:8089.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be run.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Load an external cluster without asking.")] = False,
) -> None:
    """Run a scenario on real clusters and write its report.

    With --cluster it runs on a cluster that is there already, and says before it starts what it will write.

    The exit status is 0 where every case has a valid trial, 1 where one has none or what was asked for is not possible;
    130 after Ctrl-C.
    """
    if (name is None) == (resume is None):
        message = "give a scenario's NAME, or --resume RUN to go on with one"
        raise typer.BadParameter(message)
    load_machines = _agents(agents, listen, token_file, web=web)
    if resume is not None:
        if dry_run or any(
            option is not None for option in (profile, overrides, producers, seed, clusters, backend)
        ):
            message = (
                "--resume continues a run with its original options; "
                "only --budget, --out, --web and --agents can be given with it"
            )
            raise typer.BadParameter(message)
        if stored_runs.is_uri(resume):
            message = f"--resume {resume}: a run goes on where it was made; copy it to a folder of this machine first"
            raise typer.BadParameter(message)
        resumed = run_folder.find(resume, stored_runs.local_out(out))
        raise typer.Exit(
            outside.resume(
                resumed,
                web=web,
                budget_s=_seconds(budget),
                agents=load_machines,
                store=stored_runs.store_uri(out),
            )
        )
    option = {"load.producers": producers, "budget": budget}
    settings = [*(overrides or []), *(f"{key}={value}" for key, value in option.items() if value is not None)]
    seed = 1 if seed is None else seed
    if backend not in {None, PROCESS, DOCKER} or (backend and clusters):
        message = f"--backend {backend}: give {PROCESS} or {DOCKER}, and none with --cluster"
        raise typer.BadParameter(message)
    profile_name = profile or "standard"
    plan = outside.prepare(str(name), profile_name, settings, seed, clusters or (), backend or PROCESS)
    Console().print(table.plan_table(plan) if dry_run else table.plan_line(plan), highlight=False)
    for line in external_table.lines(plan):
        typer.echo(line)
    if dry_run:
        return
    if plan.external and not yes:
        _ask("Load this cluster?", "give --yes to load it without asking")
    local_out, store = stored_runs.local_out(out), stored_runs.store_uri(out)
    raise typer.Exit(outside.start(plan, local_out, web=web, agents=load_machines, store=store))


def _agents(
    agents: int | None, listen: str | None, token_file: Path | None, *, web: bool
) -> AgentOptions | None:
    """Return what --agents, --listen and --token-file say together. Raises BadParameter where one is missing."""
    if agents is None and listen is None and token_file is None:
        return None
    if agents is None or listen is None or token_file is None:
        message = "--agents N, --listen HOST:PORT and --token-file FILE go together: give all three"
        raise typer.BadParameter(message)
    if web:
        message = "--web shows the load of this machine: leave it out with --agents"
        raise typer.BadParameter(message)
    return AgentOptions(agents, listen, token_file)


@app.command(epilog="Example:  bench agent --join 10.0.0.5:7070 --token-file token")
def agent(
    address: Annotated[
        str, typer.Option("--join", metavar="HOST:PORT", help="Where `bench run --agents` listens.")
    ],
    token_file: Annotated[Path, typer.Option(metavar="FILE", help="The token that the runner has, too.")],
) -> None:
    """Make this machine a load machine of one run on an external cluster, until that run is over.

    It needs the same version of the suite, and what the cluster's file refers to: the same variables and files.
    """
    join(address, read_token(token_file), suite_version(), typer.echo)


def _ask(question: str, hint: str) -> None:
    """Go on only after a yes. Raises BadParameter where nobody can answer."""
    if not sys.stdin.isatty():
        message = f"nobody is there to be asked: {hint}"
        raise typer.BadParameter(message)
    typer.confirm(question, abort=True)


@app.command(epilog="Example:  bench report reports/out/20261121-120000-acks-sweep-standard")
def report(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run folder, or its name below --out.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="One page over the latest runs of a family, such as faults.")
    ] = None,
    out: _Out = _RUNS,
    *,
    trials: Annotated[
        bool, typer.Option("--trials", help="Write a page for each trial too: about a second a trial.")
    ] = False,
) -> None:
    """Compute a run's results from its event log and write the report again; or a family's page.

    Pages of trials that an earlier call wrote are renewed with --trials, and removed without it.
    """
    if (run is None) == (family is None):
        message = "give a RUN, or --family NAME"
        raise typer.BadParameter(message)
    if family is not None and trials:
        message = "--trials goes with a RUN: a family's page has no trials of its own"
        raise typer.BadParameter(message)
    if family is None:
        with stored_runs.open_run(str(run), out, event_log=True, changes=True) as folder:
            outside.report(folder, trial_pages=trials)
    elif stored_runs.is_uri(out):
        message = f"--out {out}: a family's page is made of runs in a folder of this machine"
        raise typer.BadParameter(message)
    else:
        outside.report_family(family, Path(out))


@app.command(epilog="Example:  bench explain reports/published/parity | gh pr comment 12 --body-file -")
def explain(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or its name below --out.")],
    out: _Out = _RUNS,
) -> None:
    """Print a run's answer, expectations and conditions as Markdown, for a pull request or a chat.

    It reads the results only, so it works for published runs too.
    """
    with stored_runs.open_run(run, out) as folder:
        outside.explain(folder)


@app.command(epilog="Example:  bench compare RUN_A RUN_B --threshold 5% --accept bench")
def compare(
    first: Annotated[str, typer.Argument(metavar="RUN_A", help="A run folder, or its name below --out.")],
    second: Annotated[str, typer.Argument(metavar="RUN_B", help="The run that may be better or worse.")],
    threshold: Annotated[str, typer.Option(help="A smaller difference is none.")] = "5%",
    metric: Annotated[
        str, typer.Option(help="A rate or a time of results/trials.")
    ] = "throughput_msgs_per_s",
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Compare although this differs; may be given again."),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(metavar='"A = B"', help="Case B of RUN_B is case A of RUN_A; may be given again."),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write each case as a test, for a CI server.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the cases as a Markdown table.")
    ] = None,
    out: _Out = _RUNS,
) -> None:
    """Say which cases of a run are better or worse than another's.

    Exit status 0: no case is worse. 1: at least one is worse. 2: the runs are not comparable. 3: inconclusive. The
    status covers all cases together: equal runs end with 1 in at most 5 % of comparisons, however many cases they
    have. Cases that only one run has decide nothing.
    """
    rule = run_comparison.ComparisonRule(metric, _share(threshold), accept or (), _matches(match or ()))
    try:
        with stored_runs.open_run(first, out) as first_run, stored_runs.open_run(second, out) as second_run:
            comparison = run_comparison.compare(first_run.path, second_run.path, rule)
            run_comparison.show(comparison, stored_runs.local_out(out))
            run_comparison.write_files(comparison, junit, markdown)
    except (BenchError, OSError) as refusal:  # 1 is for a worse run
        typer.echo(f"error: {refusal}", err=True)
        raise typer.Exit(2) from None
    except Exception:  # noqa: BLE001 - as above; this one is a defect of the suite, so its trace is shown
        traceback.print_exc()
        raise typer.Exit(2) from None
    raise typer.Exit(_STATUS.get(comparison.verdict, 0))


def _seconds(text: str | None) -> float | None:
    """Read 10m or `unlimited`."""
    try:
        return None if text is None else budget_s(text)
    except ValueError as error:
        message = f"--budget {text}: {error}, or unlimited"
        raise typer.BadParameter(message) from None


def _share(text: str) -> float:
    """Read 5% or 0.05."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        message = f"--threshold {text}: give a share such as 5% or 0.05"
        raise typer.BadParameter(message)
    return share


def _matches(texts: Sequence[str]) -> dict[str, str]:
    """Read which case of the second run is which of the first."""
    pairs: dict[str, str] = {}
    for first, second in map(_two_cases, texts):
        if first in pairs:
            message = f"--match: case {first!r} is given twice; it can be one of the second run only"
            raise typer.BadParameter(message)
        pairs[first] = second
    return pairs


def _two_cases(text: str) -> tuple[str, str]:
    """Read the names of two cases; an equals sign within a name has no spaces around it."""
    first, _, second = (part.strip() for part in text.partition(" = "))
    if not first or not second:
        message = f'--match {text!r}: name a case of each run, as in "kafka acks=1 = Kafka"'
        raise typer.BadParameter(message)
    return first, second


@app.command(epilog="Example:  bench export 20261121-120000-acks-sweep-standard")
def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or its name below --out.")],
    to: Annotated[Path | None, typer.Option(help="Where to; without it, below the run folder.")] = None,
    out: _Out = _RUNS,
) -> None:
    """Write a run's figures as one tidy CSV, and its trials as the OpenMessaging Benchmark's result files.

    It takes the place of an earlier export of the same run; a folder that holds anything else is refused.
    """
    with stored_runs.open_run(run, out, event_log=True, changes=to is None) as folder:
        outside.export(folder, to)


@app.command(
    "import",
    epilog='Example:  bench import ~/omb-results && bench compare RUN …-omb --match "kafka acks=1 = Kafka"',
)
def read_in(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with the benchmark's *.json results.")
    ],
    out: _Out = _RUNS,
) -> None:
    """Read result files of the OpenMessaging Benchmark in, as a run to compare with.

    A case is a driver's name; files of one name that differ in message size, topics, partitions, producers or consumers
    are cases of their own, all others rounds of one.
    """
    if not folder.is_dir():
        message = f"{folder} is no folder"
        raise typer.BadParameter(message)
    outside.read_in(folder, stored_runs.local_out(out), stored_runs.store_uri(out))


@app.command(epilog="Example:  bench size reports/published/cost requirement.yaml")
def size(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of cost, or its name below --out.")],
    requirement: Annotated[
        Path, typer.Argument(metavar="FILE", help="What the cluster must carry, and on which nodes.")
    ],
    out: _Out = _RUNS,
    *,
    capacity: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="A run of capacity: how busy nodes may be where FILE asks for a p99."
        ),
    ] = None,
    extrapolate: Annotated[
        bool, typer.Option("--extrapolate", help="Also beyond twice the range that was measured.")
    ] = False,
) -> None:
    """Say how many nodes of each role carry a requirement, by what messages, bytes and batches cost in a run.

    FILE may ask for a number of copies, for a guarantee, and for a p99 of the response time. The answer is printed, and
    written as a page and a PDF beside FILE.
    """
    from bench.report.pages import size as page  # noqa: PLC0415 - pandas and SciPy load only where something is sized
    from bench.run.sizing import sizing  # noqa: PLC0415 - as above

    with ExitStack() as stack:
        cost_run = stack.enter_context(stored_runs.open_run(run, out)).path
        capacity_run = capacity and stack.enter_context(stored_runs.open_run(capacity, out)).path
        sized = sizing(cost_run, requirement, extrapolate=extrapolate, capacity=capacity_run or None)
        Console().print(page.terminal_output(sized))
        for path in page.write(sized):
            typer.echo(path)


@app.command(epilog="Example:  bench publish 20261121-120000-acks-sweep-standard")
def publish(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN…", help="Run folders, or their names below --out.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Where published runs lie.")] = publishing.PUBLISHED,
    out: _Out = _RUNS,
) -> None:
    """Copy runs, without their event logs, to where they are read; renew the index and the families' pages there.

    A run replaces the published run of its scenario. A published run is rendered again, by the present rules.
    """
    with ExitStack() as stack:
        run_folders = [stack.enter_context(stored_runs.open_run(run, out)) for run in runs or ()]
        typer.echo(publishing.publish(run_folders, to))


@app.command(epilog="Example:  bench doctor /var/lib/kafka")
def doctor(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Its disk is measured.")] = Path(),
    clusters: _Clusters = None,
) -> None:
    """Say what this machine has, what is missing, and what an fsync costs on a disk.

    With --cluster say instead what an external cluster is, and what it allows.
    """
    if clusters:
        for cluster in external_clusters.connect(clusters).values():
            Console().print(external_table.facts_table(cluster))
        return
    if not folder.is_dir():
        message = f"{folder} is no folder"
        raise typer.BadParameter(message)
    findings = preflight.findings(folder)
    Console().print(table.findings_table(findings))
    if any(finding.problem for finding in findings):
        raise typer.Exit(1)


@app.command(epilog="Example:  bench clean --cluster staging.yaml --dry-run")
def clean(
    clusters: _Clusters = None,
    *,
    docker: Annotated[
        bool, typer.Option("--docker", help="Remove the containers and networks of killed runs.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be deleted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """Delete what killed runs left: topics on external clusters, by the prefix of their names; containers, by label."""
    if not clusters and not docker:
        message = "give --cluster FILE or --docker: servers that are processes leave nothing behind"
        raise typer.BadParameter(message)
    if docker:
        for name in containers.clean(dry_run=dry_run):
            typer.echo(f"{name}{' would be' if dry_run else ''} removed")
    for cluster in external_clusters.connect(clusters or ()).values():
        names = external_clusters.left_topics(cluster)
        for name in names:
            typer.echo(name)
        if names and not dry_run:
            if not yes:
                _ask(
                    f"Delete these {len(names)} topics? A run that goes on loses its own.",
                    "give --yes to delete without asking",
                )
            external_clusters.delete(cluster, names)
        typer.echo(f"{cluster.file}: {len(names)} topics {'would be deleted' if dry_run else 'deleted'}")


@app.command(epilog="Example:  bench up kafka")
def up(
    system: Annotated[str, typer.Argument(metavar="|".join(INSTALLED), help="Which system.")],
    out: _LocalOut = run_folder.OUT,
) -> None:
    """Start a cluster to play with; it stays until Ctrl-C."""
    if system not in INSTALLED:
        message = f"{system!r} is no system with servers: {', '.join(INSTALLED)}"
        raise typer.BadParameter(message)
    raise typer.Exit(playground.up(system, out))


def main() -> None:
    """Run the command; what a user can mend is one message, never a stack trace."""
    try:
        app()
    except (BenchError, OSError) as error:  # of the system's errors each names its file
        Console(stderr=True).print("[red]error:[/red]", end=" ")
        sys.exit(str(error))


if __name__ == "__main__":
    main()
