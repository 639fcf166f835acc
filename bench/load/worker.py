"""The long-lived load process: `python -m bench.load.worker [--web-fd N]`. Protocol: commands.py.

Trials run one after the other, each with the Locust users that it asks for. The process ends when its
standard input closes.
"""

# gevent must come before everything that opens sockets or starts threads.
from gevent import monkey

monkey.patch_all()

import argparse  # noqa: E402
import ctypes  # noqa: E402
import os  # noqa: E402
import socket  # noqa: E402
import sys  # noqa: E402
from typing import Any  # noqa: E402

import gevent  # noqa: E402
from gevent.fileobject import FileObjectPosix  # noqa: E402
from gevent.queue import Queue  # noqa: E402

from bench.errors import LoadError  # noqa: E402
from bench.load import producing, web  # noqa: E402
from bench.load.commands import Close, Command, Open, Produce, RunLoad, RunSlice, from_line  # noqa: E402
from bench.load.users import LoadEnvironment  # noqa: E402
from bench.load.wire import Answers  # noqa: E402
from bench.load.without_pandas import keep_pandas_out  # noqa: E402
from bench.native_threads import hurry_threads  # noqa: E402
from bench.systems.registry import client_side  # noqa: E402

_PR_SET_TIMERSLACK = 29


def main() -> None:
    """Serve commands until standard input closes."""
    keep_pandas_out()
    answers = Answers()
    environment = LoadEnvironment()
    loads = producing.OpenLoads(environment)
    hurry_threads()
    _sharpen_timers()
    web_fd = _arguments().web_fd
    if web_fd is not None:
        web.serve(environment, socket.socket(fileno=web_fd))
    lines: Queue[bytes] = Queue()
    gevent.spawn(_read, lines)
    while True:
        _answer(environment, loads, answers, lines.get())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.load.worker")
    parser.add_argument("--web-fd", type=int, help="an inherited listening socket for Locust's web page")
    arguments = parser.parse_args()
    del sys.argv[1:]  # Locust's web page reads the command line too, and knows no --web-fd
    return arguments


def _read(lines: Any) -> None:  # noqa: ANN401 - gevent has no types
    """Pass lines on; end the process with the input, whatever it is doing: whoever asked is gone."""
    for line in FileObjectPosix(sys.stdin.fileno(), "rb", close=False):
        lines.put(line)
    os._exit(0)  # client libraries may hang or abort in an orderly exit


def _answer(environment: LoadEnvironment, loads: producing.OpenLoads, answers: Answers, line: bytes) -> None:
    try:
        answers.result(_do(environment, loads, answers, from_line(line)))
    except Exception as error:  # noqa: BLE001 - the runner gets it
        answers.error(error)


def _do(
    environment: LoadEnvironment, loads: producing.OpenLoads, answers: Answers, command: Command
) -> dict[str, Any]:
    match command:
        case Produce():
            system = client_side(command.system, command.endpoint)
            return producing.produce(environment, system, command, answers.progress)
        case Open(produce=load):
            return loads.open(client_side(load.system, load.endpoint), command)
        case RunLoad():
            return loads.run(command, answers.progress)
        case RunSlice():
            return loads.run_slice(command, answers.progress)
        case Close():
            return loads.close(command)
    raise LoadError(f"The load process only produces; {command.verb} is the consumer process's.")


def _sharpen_timers() -> None:
    """Let this thread's sleeps end within 1 us of their time; Linux adds 50 us to each otherwise."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)


if __name__ == "__main__":
    main()
