"""What a scenario may say of a consumer group, and how its members become nodes."""

from pathlib import Path

import pytest

from bench.model import Cluster, Settings
from bench.run.cluster import nodes
from bench.systems import membership

TYPES = ("shared",)


def said(settings: Settings, consumers: int = 3, spare: int = 0) -> list[str]:
    return list(membership.why_wrong(settings, TYPES, consumers, spare))


def test_members_that_are_processes_may_join_later() -> None:
    assert said({"type": "shared", "processes": True}, spare=2) == []


@pytest.mark.parametrize(
    ("settings", "spare", "message"),
    [
        ({"type": "shared"}, 1, "Spare members take a consumer_group with processes: true."),
        ({}, 1, "Spare members take a consumer_group with processes: true."),
        ({"type": "shared", "processes": True}, 3, "One member at least begins with the load"),
        ({"type": "shared", "processes": "yes"}, 0, "processes is true or false, not yes"),
        ({"type": "none"}, 0, "one of shared, not none"),
    ],
)
def test_a_group_that_cannot_be_is_refused(settings: Settings, spare: int, message: str) -> None:
    (refusal,) = said(settings, spare=spare)

    assert message in refusal


def test_members_are_nodes_beside_the_servers(tmp_path: Path) -> None:
    cluster = Cluster("kafka", "4.4.0", {"controller": 1, "broker": 3}, members=3, spare={"member": 1})

    every = nodes(cluster, tmp_path)

    own = [node for node in every if node.role == "member"]
    assert [node.name for node in own] == ["member-1", "member-2", "member-3"]
    assert len({node.address for node in every}) == len(every)
    assert [node.name for node in cluster.first(every) if node.role == "member"] == ["member-1", "member-2"]
    assert {node.role for node in cluster.first(every)} == {"controller", "broker", "member"}


def test_without_processes_there_are_no_such_nodes(tmp_path: Path) -> None:
    assert not any(
        node.role == "member"
        for node in nodes(Cluster("kafka", "4.4.0", {"broker": 1, "controller": 1}), tmp_path)
    )
