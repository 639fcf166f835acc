"""What the measured difference of two clocks misses of the true one, and which error the suite states. Prints JSON.

python -m bench.backends.sandbox tests.perf.clock_error [--seconds 20]

One agent on a network of its own, with a clock that is exactly 3 s ahead: the kernel shifts it. Between them nothing
but the network, then delays of one or both ways. `off_us`: the most by which times are off that the suite converts.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.backends import sandbox
from bench.backends.delayed_node import DelayedNode, Link
from bench.load.agent import read_token
from bench.load.joined_agents import Agent, Invitation, gather_agents
from bench.model import NANOS
from bench.run.load_machines import AgentOptions, suite_version
from tests.load_agents import AHEAD_S, RUNNER, RUNNER_HOST, agent, enter, networks

BOTH_WAYS = ((RUNNER_HOST,), (RUNNER_HOST,))
DELAYS = {  # what comes to the agent, and what goes from it, by its other end; ms
    "as is": (((), ()), 0.0),
    "1 ms each way": (BOTH_WAYS, 1.0),
    "10 ms each way": (BOTH_WAYS, 10.0),
    "10 ms to the agent only": (((RUNNER_HOST,), ()), 10.0),
}


@contextmanager
def delayed(ways: tuple[Sequence[str], Sequence[str]], delay_ms: float) -> Iterator[None]:
    """Hold packets of the agent for so long."""
    if not delay_ms:
        yield
        return
    node = DelayedNode(enter(1), "agent", *ways, Link(delay_ms / 1e3))
    try:
        yield
    finally:
        node.end()


@contextmanager
def joined(folder: Path) -> Iterator[Agent]:
    """An agent on the other network."""
    token = folder / "token"
    token.write_text("a token of a measurement, long enough\n")
    with ExitStack() as stack:
        listener = stack.enter_context(AgentOptions(1, RUNNER, token).listen())
        stack.enter_context(agent(1, token, ahead=True))
        invitation = Invitation(listener, 1, read_token(token), suite_version())
        (only,) = stack.enter_context(gather_agents(invitation))
        yield only


def measure(machine: Agent, seconds: float) -> dict[str, Any]:
    """Let exchanges go on for so long, and convert times of the agent all over it."""
    first_ns = time.monotonic_ns()
    time.sleep(seconds)
    last_ns = time.monotonic_ns()
    machine.check()
    clock = machine.clock.copy()
    true_ns = np.linspace(first_ns, last_ns, 1000).astype(np.int64)
    off_ns = np.abs(clock.local(true_ns + AHEAD_S * NANOS) - true_ns)
    return {"stated_us": clock.error_ns / 1e3, "off_us": float(off_ns.max()) / 1e3}


def main() -> None:
    """Measure with each delay, with an agent of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    sandbox.enter()
    measured: dict[str, Any] = {}
    with networks(1):
        for name, delays in DELAYS.items():
            with tempfile.TemporaryDirectory() as folder, delayed(*delays), joined(Path(folder)) as machine:
                measured[name] = measure(machine, seconds)
    json.dump(measured, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
