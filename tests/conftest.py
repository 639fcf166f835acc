"""`make test` runs three workers of pytest in the sandbox of bench.backends.sandbox, each with a network of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from bench.backends import sandbox
from tests.own_namespaces import own_namespaces

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_SANDBOX = pytest.StashKey[bool]()

settings.register_profile(
    "any machine",
    deadline=None,
    derandomize=True,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    if os.getpid() == 1:
        sandbox.enter()
    # A worker of pytest-xdist is a child of the process that entered.
    config.stash[IN_SANDBOX] = 1 in {os.getpid(), os.getppid()}
    if os.getppid() == 1 and hasattr(config, "workerinput"):
        own_namespaces()


_WITHOUT_NODES = ("test_memory_run", "test_package", "test_spark_cluster", "test_stored_runs")
"""Integration tests that start no nodes of a cluster."""
_GROUPS = {
    **dict.fromkeys(("test_memory_run", "test_run", "test_stored_runs"), "Spark"),
    **dict.fromkeys(("test_containers", "test_external", "test_load_machines", "test_sandbox"), "whole runs"),
}
"""Integration tests that analyse in the process of the tests, and those of other whole runs.

The latter take about as long as all others that start nodes.
"""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
    """Gives each file to one worker, which makes its fixtures once, and each group of files to one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.startswith("tests/golden/"):
            return "Spark"  # on one worker it starts, and its code gets warm, once
        if file.startswith("tests/integration/") and (group := _GROUPS.get(Path(file).stem)):
            return group
        return "clusters" if starts_nodes(nodeid) else file


def starts_nodes(nodeid: str) -> bool:
    """Whether a test starts nodes."""
    return nodeid.startswith(("tests/contract/", "tests/integration/")) and not any(
        name in nodeid for name in _WITHOUT_NODES
    )


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what starts nodes: it takes longest, and workers do the rest as they get free."""
    items.sort(key=lambda item: not starts_nodes(item.nodeid))


@pytest.fixture(scope="session")
def in_sandbox(pytestconfig: pytest.Config) -> None:
    """Fail, rather than skip, where a test needs the sandbox and somebody ran pytest without it."""
    if not pytestconfig.stash[IN_SANDBOX]:
        pytest.fail('this needs the sandbox: make test PYTEST_ARGS="tests/contract"', pytrace=False)


@pytest.fixture
def measured(tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Runs a scenario as `bench run` does, with results and without a report, which takes as long again."""
    from bench.run import outside  # noqa: PLC0415 - most tests start nothing
    from tests import whole_runs  # noqa: PLC0415 - as above

    monkeypatch.setattr(outside, "report", whole_runs.analysed)

    def measured(name: str, text: str, status: int = 0) -> Path:
        run_plan = outside.prepare(str(whole_runs.scenario(tmp_path, name, text)), "standard", (), 1)
        assert outside.start(run_plan, tmp_path / "out", web=False) == status
        return whole_runs.only(tmp_path / "out")

    return measured


@pytest.fixture(scope="session")
def docker_daemon(in_sandbox: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Docker daemon of the tests' own, with a base image; tests are skipped where it cannot be had."""
    from tests import containers  # noqa: PLC0415 - the Docker client loads only where containers run

    if (reason := containers.why_no_daemon()) is not None:
        pytest.skip(f"no containers: {reason}")
    folder = tmp_path_factory.mktemp("docker")
    try:
        daemon = containers.daemon(folder)
        host = daemon.__enter__()
    except RuntimeError as error:
        pytest.skip(f"no containers: {error}")
    try:
        containers.make_base(folder)
        yield host
    finally:
        daemon.__exit__(None, None, None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests; an analysis that finds it active uses it."""
    from bench.analysis import spark_session  # noqa: PLC0415 - Spark loads only where something is analysed

    with spark_session(rows=0) as session:
        yield session
