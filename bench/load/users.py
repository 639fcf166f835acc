"""Locust's side of the load: a user is a producer, and runs one long task, its send loop.

The loop itself runs in a native thread, for which the user's greenlet waits: client libraries wait natively, and
only a thread lets them (see docs/method.md).
"""

from __future__ import annotations

from typing import Protocol, cast

from locust import User, task
from locust.env import Environment
from locust.exception import StopUser


class Workload(Protocol):
    """What users do while a trial runs."""

    def run_user(self) -> None:
        """Run one user's whole share; called once by each user, in its own greenlet. Does not raise."""


class LoadEnvironment(Environment):
    """Locust's environment, with the trial that its users work for; None between trials."""

    workload: Workload | None = None


class ProducerUser(User):
    """One producer. It works for the environment's trial, once, and ends.

    Without a trial it ends at once: nobody but the trial starts users that send.
    """

    @task
    def send(self) -> None:
        """Send until the trial's load is over."""
        workload = cast("LoadEnvironment", self.environment).workload
        if workload is not None:
            workload.run_user()
        raise StopUser


def new_environment() -> LoadEnvironment:
    """Return an environment with a runner for users of this process."""
    environment = LoadEnvironment(user_classes=[ProducerUser])
    environment.create_local_runner()
    return environment
