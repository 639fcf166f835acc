"""`make test` runs pytest inside the sandbox of bench.backends.sandbox, so that tests can lay networks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from bench.backends import sandbox

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
    config.stash[IN_SANDBOX] = os.getpid() == 1
    if config.stash[IN_SANDBOX]:
        sandbox.enter()


@pytest.fixture(scope="session")
def in_sandbox(pytestconfig: pytest.Config) -> None:
    """Fail, rather than skip, where a test needs the sandbox and somebody ran pytest without it."""
    if not pytestconfig.stash[IN_SANDBOX]:
        pytest.fail('this needs the sandbox: make test PYTEST_ARGS="tests/contract"', pytrace=False)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One small session for all tests; an analysis that finds it active uses it."""
    from bench.analysis import spark_session  # noqa: PLC0415 - Spark loads only where something is analysed

    with spark_session(rows=0) as session:
        yield session
