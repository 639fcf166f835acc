"""Connections of the C++ client: made with its warnings kept, and ended in bounded time."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any, TypeAlias

import pulsar

from bench.errors import LoadError
from bench.model import Settings
from bench.systems.endpoint import resolve
from bench.systems.native_queue import Empty, SimpleQueue, first_of
from bench.systems.pulsar import arguments
from bench.systems.pulsar.credentials import client_arguments

Client: TypeAlias = Any  # pulsar has no types; so have its producers, consumers, readers and messages

_left_behind: list[Client] = []
"""Clients that did not end in time. Dropped, they would be ended at once, with the interpreter lock held."""


def connect(endpoint: str, settings: Settings) -> Client:
    """Return a client with the case's client properties; it connects when it is asked for something.

    Raises LoadError for a secret that is not there.

    Its warnings go to standard output, written by its own threads. A Python logger would take the interpreter
    lock in those threads, for which a sender then waits.
    """
    warnings = pulsar.ConsoleLogger(pulsar.LoggerLevel.Warn)
    connection = resolve(endpoint)
    properties = {**client_arguments(connection.client), **arguments.of_client(settings)}
    return pulsar.Client(connection.address, **{"logger": warnings, **properties})


def attempt(doing: str, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - pulsar has no types
    """Return what the client gives. Raises LoadError with the client's own name for why it doesn't."""
    try:
        return ask()
    except (pulsar.PulsarException, ValueError) as error:
        raise LoadError(f"{doing}: {type(error).__name__} ({error}).") from error


def disconnect(client: Client, timeout_s: float) -> None:
    """End a client with everything made by it; sends under way end as AlreadyClosed.

    It does not use `close`, which waits 30 s for a broker that does not answer. Nor does it use `shutdown`, which
    holds the interpreter lock while it waits for threads that may wait for that lock (seen: 11 s).
    """
    over: SimpleQueue[object] = SimpleQueue()
    client._client.close_async(over.put)  # noqa: SLF001 - only the wrapped client can be closed without a wait
    try:
        first_of(over, timeout_s)
    except Empty:
        _left_behind.append(client)


@atexit.register
def _end_those_left_behind() -> None:
    """Without it the client's threads abort a process that ends in an orderly way."""
    for client in _left_behind:
        client.shutdown()
