"""A load machine: `bench agent --join HOST:PORT` serves one run with load processes of its own.

For each start of a cluster it opens three connections to the runner. Two of them become standard input and output of a
producer and of a consumer process, which take commands as those on the runner's machine do (commands.py). The third
answers questions about the machine: its clock, and the files that the processes wrote.

Both sides prove that they know the run's token before anything else is sent. Nothing is encrypted. No secret of a
cluster is sent: credentials are references that each machine resolves by itself (bench/systems/endpoint.py).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from bench.errors import LoadError, SetupError
from bench.load.process import CONSUMER_MODULE, PRODUCER_MODULE

PRODUCING, CONSUMING, CONTROL = "producing", "consuming", "control"
_MODULES = {PRODUCING: PRODUCER_MODULE, CONSUMING: CONSUMER_MODULE}
_CONNECT_S = 30.0
_RETRY_S = 0.5
_LEAST_TOKEN = 16
_LONGEST_LINE = 1 << 16
_KEEPALIVE = {socket.TCP_KEEPIDLE: 10, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 4}
"""Half a minute after the other machine has vanished the connection counts as closed."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_NAMESPACE = Path("/proc/self/ns/time")


class ClosedError(LoadError):
    """The other side has closed the connection."""


class NotListeningError(SetupError):
    """Nobody listens at the runner's address."""


def clock_name() -> str:
    """Name this machine's monotonic clock: processes that share it give the same name."""
    namespace = _CLOCK_NAMESPACE.readlink() if _CLOCK_NAMESPACE.exists() else ""
    return f"{_BOOT.read_text(encoding='ascii').strip()} {namespace}"


def read_token(file: Path) -> str:
    """Read a run's token. Raises SetupError for a file that cannot be read or holds too little."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        message = f"--token-file {file}: {error}"
        raise SetupError(message) from error
    if len(token) < _LEAST_TOKEN:
        message = (
            f"--token-file {file}: a token has {_LEAST_TOKEN} characters at least; make one with "
            f"`openssl rand -hex 32 > {file}` and copy it to every load machine"
        )
        raise SetupError(message)
    return token


def address_of(text: str, option: str) -> tuple[str, int]:
    """Read HOST:PORT. Raises SetupError that names the option."""
    host, _, port = text.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
        message = f"{option} {text}: give HOST:PORT, such as 10.0.0.5:7070"
        raise SetupError(message)
    return host.strip("[]"), int(port)


def keep_alive(connection: socket.socket) -> None:
    """Have a connection send small messages at once, and end soon after the other machine has vanished."""
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, seconds in _KEEPALIVE.items():
        connection.setsockopt(socket.IPPROTO_TCP, option, seconds)


class Wire:
    """JSON lines over one connection, some of them followed by bytes."""

    def __init__(self, connection: socket.socket) -> None:
        """Use a connection, which the caller closes."""
        self.connection = connection
        self._stream = cast("BinaryIO", connection.makefile("rwb"))

    def write(self, message: Mapping[str, Any], content: bytes = b"") -> None:
        """Send a message, and the bytes after it. Raises OSError."""
        line = {**message, "bytes": len(content)} if content else message
        self._stream.write(json.dumps(line).encode() + b"\n" + content)
        self._stream.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message. Raises ClosedError, LoadError for a malformed message, OSError."""
        line = self._stream.readline(_LONGEST_LINE)
        if not line:
            raise ClosedError("The other side closed the connection.")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LoadError(f"The other side sent a line that is not JSON: {line[:100]!r}.") from error
        if not isinstance(message, dict):
            raise LoadError(f"The other side sent a line that is not a JSON object: {line[:100]!r}.")
        return message

    def content(self, message: Mapping[str, Any]) -> bytes:
        """Return the bytes that follow a message. Raises ClosedError where some are missing."""
        length = int(message.get("bytes", 0))
        content = self._stream.read(length)
        if len(content) < length:
            raise ClosedError("The other side closed the connection within a file.")
        return content


def proof(token: str, side: str, challenge: str) -> str:
    """Return what shows that one side knows the token, without sending it."""
    return hmac.new(token.encode(), f"{side} {challenge}".encode(), hashlib.sha256).hexdigest()


def matches(claimed_proof: object, expected: str) -> bool:
    """Whether a proof is the one expected, in a time that does not depend on where it differs."""
    return hmac.compare_digest(str(claimed_proof).encode(), expected.encode())


def introduce(wire: Wire, token: str, about: Mapping[str, Any]) -> None:
    """Prove to the runner that this is an agent of its run, and have it prove the same.

    Raises LoadError for a closed connection, SetupError for a refusal or a runner of another run.
    """
    greeting, challenge = wire.read(), secrets.token_hex(16)
    answer = proof(token, "agent", str(greeting.get("challenge")))
    wire.write({"proof": answer, "challenge": challenge, **about})
    reply = wire.read()
    if "refused" in reply:
        message = f"The runner refuses this agent: {reply['refused']}"
        raise SetupError(message)
    if not matches(reply.get("proof"), proof(token, "runner", challenge)):
        message = "The runner does not know the token: is another run waiting at that address?"
        raise SetupError(message)


def join(address: str, token: str, suite: str, notify: Callable[[str], None]) -> None:
    """Serve a run until it is over; `suite` is this suite's version, `notify` takes lines for the user.

    It is over when the runner has gone: its connections are closed, or nobody listens any more.

    Raises SetupError where nobody listens there, and for a runner of another run or version. Raises it also where this
    machine cannot go on; LoadError where the runner sends what no runner sends.
    """
    host, port = address_of(address, "--join")
    runner = _Runner(host, port, token, suite, time.monotonic() + _CONNECT_S)
    _serve_cluster_start(runner, notify)
    try:
        while True:
            _serve_cluster_start(runner, notify)
    except (ClosedError, NotListeningError, ConnectionError, TimeoutError):
        notify("the run is over")
    except OSError as error:
        message = f"This load machine cannot go on: {error}"
        raise SetupError(message) from error


@dataclass(frozen=True, slots=True)
class _Runner:
    """Where the runner is, and what is proven to it; until `deadline_s` it need not listen yet."""

    host: str
    port: int
    token: str
    suite: str
    deadline_s: float


def _serve_cluster_start(runner: _Runner, notify: Callable[[str], None]) -> None:
    """Serve one start of a cluster; the next one has load processes of its own."""
    about = {"agent": secrets.token_hex(8), "suite": runner.suite}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-agent-")))
        for role, module in _MODULES.items():
            connection = stack.enter_context(_connect(runner))
            introduce(Wire(connection), runner.token, {"role": role, **about})
            stack.enter_context(_load_process(module, connection, folder))
        control = stack.enter_context(_connect(runner))
        wire = Wire(control)
        machine = {"clock": clock_name(), "host": socket.gethostname()}
        introduce(wire, runner.token, {"role": CONTROL, **about, **machine})
        notify(f"joined the run at {runner.host}:{runner.port}")
        _answer_questions(wire, folder)


@contextmanager
def _connect(runner: _Runner) -> Iterator[socket.socket]:
    """Connect, and retry while the runner does not listen yet."""
    while True:
        try:
            connection = socket.create_connection((runner.host, runner.port), _CONNECT_S)
            break
        except OSError as error:
            if time.monotonic() > runner.deadline_s:
                message = (
                    f"--join {runner.host}:{runner.port}: {error}. Is `bench run --agents` waiting there?"
                )
                raise NotListeningError(message) from error
            time.sleep(_RETRY_S)
    keep_alive(connection)
    with connection:
        yield connection


@contextmanager
def _load_process(module: str, connection: socket.socket, folder: Path) -> Iterator[None]:
    """Run a load process whose standard input and output are the connection: it ends when the runner does."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=connection.fileno(),
        stdout=connection.fileno(),
        cwd=folder,
        process_group=0,
    )
    connection.close()  # the process alone holds it: when that ends, the runner sees it
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _answer_questions(wire: Wire, folder: Path) -> None:
    """Answer the runner until it closes the connection."""
    while True:
        try:
            question = wire.read()
        except (LoadError, OSError):
            return
        if question["ask"] == "clock":
            wire.write({"clock": time.monotonic_ns()})
        elif question["ask"] == "list":
            files = _below(folder, question["folder"]).glob("*.parquet")
            wire.write({"files": sorted(file.name for file in files)})
        elif question["ask"] == "fetch":
            file = _below(folder, question["folder"]) / Path(question["file"]).name
            wire.write({}, file.read_bytes())
            file.unlink()


def _below(folder: Path, name: str) -> Path:
    """Return a folder below another one. Raises LoadError for one that is elsewhere."""
    inner = (folder / name).resolve()
    if not inner.is_relative_to(folder.resolve()):
        raise LoadError(f"The runner asks for {name!r}, which is not below the agent's own folder.")
    return inner
