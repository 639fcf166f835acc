"""Faults of the network from the strike to the last proof: real namespaces, and who reaches whom in them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from bench.backends.delayed_node import Link
from bench.backends.process import ProcessBackend
from bench.errors import FaultError
from bench.faults.fault import FaultEffect, Place, Unproven
from bench.faults.kinds import kinds
from bench.model import Node
from tests.integration.echo import DATAGRAMS, echo, namespace_socket, reaches, running

pytestmark = pytest.mark.integration


@pytest.fixture
def nodes(tmp_path: Path) -> list[Node]:
    return [echo(f"echo-{number}", number, tmp_path) for number in (1, 2, 3, 4)]


@pytest.fixture
def backend(nodes: list[Node]) -> Iterator[ProcessBackend]:
    with running(nodes) as made:
        yield made


def strike(
    kind: str, backend: ProcessBackend, nodes: Sequence[Node], struck: Sequence[Node], **settings: Any
) -> FaultEffect:
    place = Place(backend, nodes, backend.client, lambda name: [node for node in nodes if node.name == name])
    asked = {"target": [node.name for node in struck], **settings}
    return kinds()[kind].model_validate(asked).strike(place, struck)


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def tables(node: Node) -> str:
    """What the packet filter in a node's namespace lists."""
    command = ["nsenter", f"--net=/run/netns/{node.address}", "nft", "list", "tables"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_two_groups_do_not_reach_each_other_and_themselves_they_do(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    ours, theirs = nodes[:2], nodes[2:]
    effect = strike("isolate", backend, nodes, ours, **{"from": [node.name for node in theirs]})

    for one, other in product(ours, theirs):
        assert not reaches(one, other)
        assert not reaches(other, one)
    assert all(reaches(*pair) for pair in (ours, ours[::-1], theirs, theirs[::-1]))

    seen = effect.heal(ours)
    assert all(tables(node) == "" for node in nodes)
    assert "echo-1, echo-2 lists the rules no more. echo-1 got an answer from echo-3, echo-4 within" in seen
    for one, other in product(ours, theirs):
        assert reaches(one, other)
        assert reaches(other, one)
    proof = effect.proof()
    assert isinstance(proof, str)
    assert " echo-1 " in proof
    assert " echo-2 " in proof


def test_what_comes_in_is_dropped_and_what_goes_out_arrives(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other = nodes[:2]
    with namespace_socket(one) as at_one, namespace_socket(other) as at_other:
        effect = strike("isolate", backend, nodes, [one], **{"from": other.name, "direction": "in"})
        for sender, to in ((one, other), (other, one)):
            command = [
                "nsenter",
                f"--net=/run/netns/{sender.address}",
                sys.executable,
                "-c",
                DATAGRAMS,
                to.address,
            ]
            subprocess.run(command, check=True)

        came = set()
        with suppress(BlockingIOError):
            while True:
                came.add(at_other.recv(10))
        assert len(came) == 50
        with pytest.raises(BlockingIOError):
            at_one.recv(10)
        effect.heal([one])

    assert effect.proof() == "50 packets were dropped: echo-1 50 (50 coming in, 0 going out)."


def test_a_flapping_node_is_gone_and_there_in_turns_and_stays_in_the_end(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other = nodes[:2]
    effect = strike(
        "unstable-network", backend, nodes, [one], **{"from": other.name, "down": "1s", "up": "1s"}
    )
    for _ in range(2):
        assert until(lambda: not reaches(one, other))
        assert until(lambda: reaches(one, other))
    seen = effect.heal([one])

    assert "echo-1 got an answer from echo-2" in seen
    assert tables(one) == ""
    proof = effect.proof()
    assert isinstance(proof, str)
    assert "packets were dropped: echo-1" in proof


def test_a_cut_between_nodes_that_exchange_nothing_is_not_proven(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other, third, _ = nodes
    effect = strike("isolate", backend, nodes, [one, other], **{"from": third.name})
    effect.heal([one, other])

    assert isinstance(effect.proof(), Unproven)


@pytest.mark.parametrize("direction", ["both", "in", "out"])
def test_of_two_that_are_cut_off_the_silent_one_is_tried(
    backend: ProcessBackend, nodes: list[Node], direction: str
) -> None:
    one, other, third, _ = nodes
    effect = strike("isolate", backend, nodes, [one, other], **{"from": third.name, "direction": direction})
    assert not reaches(one, third)
    effect.heal([one, other])

    proof = effect.proof()
    assert isinstance(proof, str)
    assert "echo-2 had sent and got nothing; 1 (" in proof
    assert tables(other) == ""


def test_a_slow_network_through_which_nothing_came_is_not_proven(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other = nodes[:2]
    effect = strike("slow-network", backend, nodes, [one], delay="50ms", **{"from": other.name})
    seen = effect.heal([one])

    assert "echo-1 lists no rule and no queue any more. echo-1 got an answer from echo-2 within" in seen
    assert isinstance(effect.proof(), Unproven)


def test_a_pair_between_which_nothing_passes_after_the_heal_is_told(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other = nodes[:2]
    effect = strike("isolate", backend, nodes, [one], **{"from": other.name})
    subprocess.run(["ip", "-n", other.address, "link", "set", "eth0", "down"], check=True)

    with pytest.raises(FaultError, match="no packet passes between echo-1 and echo-2"):
        effect.heal([one])


def test_a_pair_that_another_fault_still_cuts_is_not_asked(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    one, other, third, _ = nodes
    first = strike("isolate", backend, nodes, [one], **{"from": [other.name, third.name]})
    second = strike("isolate", backend, nodes, [third], **{"from": one.name})

    seen = first.heal([one])
    assert "echo-1 got an answer from echo-2 within" in seen
    assert "Another fault strikes packets between echo-1 and echo-3: these were not asked." in seen
    assert "echo-3 got an answer from echo-1" in second.heal([third])


def test_a_node_that_refuses_rules_leaves_no_other_cut(backend: ProcessBackend, nodes: list[Node]) -> None:
    one, other = nodes[0], replace(nodes[1], name="nobody", address="10.99.9.200")

    with pytest.raises(FaultError, match="Changing the packet filter of nobody failed"):
        strike("isolate", backend, nodes, [one, other], **{"from": "client"})
    assert tables(one) == ""


def test_packets_are_not_led_to_a_queue_where_one_way_is_refused(
    backend: ProcessBackend, nodes: list[Node]
) -> None:
    with pytest.raises(FaultError, match="packet filter of echo-1 failed"):
        backend.slow_network(nodes[0], [nodes[1].address], ["10.0.0.1/99"], Link(delay_s=1.0))

    command = ["nsenter", f"--net=/run/netns/{nodes[0].address}", "iptables", "--list-rules"]
    assert "NFQUEUE" not in subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert reaches(nodes[0], nodes[1])
