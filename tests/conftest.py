"""`make test` runs pytest inside the sandbox of bench.backends.sandbox, so that tests can lay networks."""

import os

import pytest
from hypothesis import HealthCheck, settings

from bench.backends import sandbox

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
