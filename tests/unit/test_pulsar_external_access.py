"""Who serves and keeps a topic of a Pulsar cluster that somebody else runs, by what its brokers answer."""

from typing import Any

import pytest

from bench.errors import ClusterError
from bench.model import Cluster, Topic
from bench.systems.pulsar.external_access import ExternalPulsarAdmin

METADATA = (
    "LedgerMetadata{formatVersion=3, ensembleSize=2, writeQuorumSize=2, ackQuorumSize=1, state=OPEN, "
    "digestType=CRC32C, password=OMITTED, ensembles={0=[k1:3181, k2:3181], 500=[k1:3181, k3:3181]}, "
    "customMetadata={}}"
)
TOPIC = Topic("bench-one", 2, tenant="team")
NODES = {
    "broker-1": {"address": "b1:6651"},
    "broker-2": {"address": "b2:6651"},
    **{f"bookie-{number}": {"address": f"k{number}:3181"} for number in (1, 2, 3)},
}


class Answers:
    """Stands for the REST interface: partition 0 is owned by b1, partition 1 by the broker `second`."""

    def __init__(self, second: str = "b2") -> None:
        self.second = second
        self.silent = False

    def ask(self, doing: str, _method: str, path: str) -> Any:
        if self.silent:
            raise ClusterError(f"{doing}: none answered.")
        if path.startswith("lookup/"):
            host = "b1" if path.endswith("-partition-0") else self.second
            return {"brokerUrlTls": f"pulsar+ssl://{host}:6651", "httpUrl": f"http://{host}:8080"}
        return {"ledgers": [{"ledgerId": 7, "metadata": METADATA}]}


def administrator(answers: Answers, nodes: Any = NODES) -> Any:
    admin: Any = ExternalPulsarAdmin(answers, answers, Cluster("pulsar", "", {}, external_nodes=nodes))  # type: ignore[arg-type]  # it only asks
    return admin


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("owner", ["broker-1"]),
        ("owner of 1", ["broker-2"]),
        ("bookie 2", ["bookie-3"]),
        ("ensemble", ["bookie-1", "bookie-3"]),
        ("write quorum of 1", ["bookie-1", "bookie-3"]),
    ],
)
def test_parts_of_a_topic_are_found_by_the_addresses_of_the_clusters_file(
    part: str, names: list[str]
) -> None:
    assert administrator(Answers()).find(part, TOPIC) == names


def test_a_part_that_another_node_plays_is_an_error_that_names_it() -> None:
    with pytest.raises(ClusterError, match=r"the owner of 1 of bench-one: b9:6651 is not in the cluster's"):
        administrator(Answers("b9")).find("owner of 1", TOPIC)


def test_the_layout_has_every_ledger_with_the_nodes_that_keep_it() -> None:
    first, second = administrator(Answers("b9")).layout(TOPIC)

    ledger = {"ledger": 7, "segments": [(0, ["bookie-1", "bookie-2"]), (500, ["bookie-1", "bookie-3"])]}
    assert first == {"partition": 0, "owner": "broker-1", "ledgers": [ledger]}
    assert second["owner"] == "b9:6651"


def test_nobody_is_asked_where_no_node_may_be_broken() -> None:
    answers = Answers()
    answers.silent = True

    assert administrator(answers, {}).layout(TOPIC) == []


def test_a_topic_is_available_once_every_partition_is_answered_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.systems.pulsar.external_access.SETTLES_S", 0.0)
    answers = Answers()
    assert administrator(answers).state(TOPIC).available
    administrator(answers).await_settled(TOPIC)

    answers.silent = True
    assert not administrator(answers).state(TOPIC).available
    with pytest.raises(ClusterError, match="bench-one was not served again within 0 s"):
        administrator(answers).await_settled(TOPIC)
