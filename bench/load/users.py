"""Locust's side of the load: a user is a producer, and runs one long task, its send loop.

The loop itself runs in a native thread, for which the user's greenlet waits: client libraries wait natively, and
only a thread lets them (see docs/method/load.md).
"""

from __future__ import annotations

from typing import Protocol, cast

from locust import User, task
from locust.env import Environment
from locust.exception import StopUser

from bench.errors import LoadError


class UserLoad(Protocol):
    """What the users of one load do."""

    def run_user(self) -> None:
        """Run one user's whole share; called once by each user, in its own greenlet. Does not raise."""


class LoadEnvironment(Environment):
    """Locust's environment, with the loads that its users work for."""

    def __init__(self) -> None:
        """Run users of this process."""
        super().__init__(user_classes=[ProducerUser])
        self.create_local_runner()
        self._newest: UserLoad | None = None
        self._users: dict[UserLoad, int] = {}

    def join(self, load: UserLoad, users: int) -> None:
        """Start so many users more, for this load; the others go on. Raises LoadError without a runner."""
        if self.runner is None:
            raise LoadError("The load process has no Locust runner.")
        self._newest = load
        self._users[load] = users
        total = sum(self._users.values())
        self.runner.start(total, spawn_rate=total)

    def leave(self, load: UserLoad) -> None:
        """Take a load out whose users have ended; without any load the runner stops."""
        self._users.pop(load, None)
        self._newest = None
        if not self._users and self.runner is not None:
            self.runner.stop()

    def run_user(self) -> None:
        """Work for the load that users were started for last; without one, at once no more."""
        if self._newest is not None:
            self._newest.run_user()


class ProducerUser(User):
    """One producer. It works for one load, once, and ends.

    Without a load it ends at once: nobody but the trial starts users that send.
    """

    @task
    def send(self) -> None:
        """Send until the load is closed."""
        cast("LoadEnvironment", self.environment).run_user()
        raise StopUser
