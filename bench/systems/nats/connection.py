"""The client's asyncio, in a thread of the operating system: callers wait for it natively, also under gevent."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import socket
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from selectors import BaseSelector
from typing import Any, Self, TypeVar, cast

import nats
from gevent.monkey import get_original
from nats.aio.client import Client
from nats.js.errors import APIError, ServiceUnavailableError

from bench.errors import LoadError
from bench.native_threads import NativeThread
from bench.systems.native_queue import Empty, SimpleQueue, first_of

_EpollSelector = cast("Callable[[], BaseSelector]", get_original("selectors", "EpollSelector"))

CONNECT_S = 30.0
CALL_S = 30.0
RECONNECT_S = 0.1
"""The client's own default is 2 s, which would stand in every gap after a server's death."""
_CANCEL_AGAIN_S, _AGAIN_S = 0.1, 0.1
_NO_PEERS = 10005
"""JetStream's error where servers do not fit a stream; its description gives the reasons."""
RECONNECT = "reconnect_time_wait"
Result = TypeVar("Result")


@functools.cache
def _use_native_sockets() -> None:
    """Give asyncio a copy of `socket` that gevent has not changed.

    Sockets of gevent belong to the event loop of the thread that made them, and close only when it runs. In a
    thread of asyncio it never does.
    """
    name = "socket_without_gevent"
    spec = cast("ModuleSpec", importlib.util.spec_from_file_location(name, socket.__file__))
    native = sys.modules[name] = importlib.util.module_from_spec(spec)
    cast("Loader", spec.loader).exec_module(native)
    for module in (asyncio.base_events, asyncio.selector_events):
        module.socket = native  # type: ignore[attr-defined]


class EventLoop:
    """An asyncio loop that runs until `close`; a context manager."""

    def __init__(self) -> None:
        """Start it."""
        _use_native_sockets()
        self.loop = asyncio.SelectorEventLoop(_EpollSelector())
        self._thread = NativeThread(self._run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.run_until_complete(cancel_tasks(asyncio.all_tasks(self.loop)))
        self.loop.close()

    def call(self, work: Coroutine[Any, Any, Result], timeout_s: float = CALL_S) -> Result:
        """Run a coroutine in the loop and return its result, or raise what it raised. Raises TimeoutError."""
        over: SimpleQueue[asyncio.Task[Result]] = SimpleQueue()

        def start() -> None:
            self.loop.create_task(work).add_done_callback(over.put)

        self.loop.call_soon_threadsafe(start)
        try:
            return first_of(over, timeout_s).result()
        except Empty:
            raise TimeoutError(f"no answer within {timeout_s:g} s") from None

    def close(self) -> None:
        """Cancel what still runs in it, and return once its thread has ended."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()


async def cancel_tasks(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks until all have ended: one cancel is lost where it meets the end of what a task waited for."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_CANCEL_AGAIN_S)


async def connect(endpoint: str, reconnect_s: float = RECONNECT_S) -> Client:
    """Connect to any of the endpoint's servers, and go on to another one for ever where it goes away."""
    return await nats.connect(
        servers=endpoint.split(","),
        name="bench",
        connect_timeout=2,
        reconnect_time_wait=cast("int", reconnect_s),
        max_reconnect_attempts=-1,
        error_cb=_ignore,
    )


async def _ignore(_: Exception) -> None:
    """Errors that the client mends by itself are told by what comes of the sends."""


async def repeat(request: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Ask until JetStream answers: requests are lost, or refused for now, while servers find each other again.

    Raises nats.errors.Error, the last one after CONNECT_S.
    """
    deadline = time.monotonic() + CONNECT_S
    while True:
        try:
            await request()
        except (TimeoutError, APIError) as error:
            if time.monotonic() > deadline or not _is_transient(error):
                raise
            await asyncio.sleep(_AGAIN_S)
        else:
            return


def _is_transient(error: TimeoutError | APIError) -> bool:
    """Whether to ask again. A server that was cut off counts as offline until it is heard of again."""
    if isinstance(error, APIError) and error.err_code == _NO_PEERS:
        return (error.description or "").endswith("peer offline")
    return isinstance(error, TimeoutError | ServiceUnavailableError)


@contextmanager
def client_errors(doing: str) -> Iterator[None]:
    """Raise LoadError, which says what was being done, for what the client raises."""
    try:
        yield
    except TimeoutError as error:
        raise LoadError(f"{doing}: no server answered in time.") from error
    except (OSError, nats.errors.Error) as error:
        raise LoadError(f"{doing}: {type(error).__name__}: {error}.") from error


@contextmanager
def client_loop(doing: str) -> Iterator[EventLoop]:
    """Start a loop for a client that is opened here; it is closed where that fails. Raises as `client_errors`."""
    with ExitStack() as on_failure, client_errors(doing):
        yield on_failure.enter_context(EventLoop())
        on_failure.pop_all()
