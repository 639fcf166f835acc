"""Who owns a partition, by what ZooKeeper holds: each of Pulsar's two load managers writes it in a place of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from kazoo.exceptions import NoNodeError

from bench.model import Topic
from bench.systems.pulsar.zookeeper_topics import ZooKeeperTopics

TOPIC = Topic("owned", 1, {})
WHOLE = "0x00000000_0xffffffff"


class Held(ZooKeeperTopics):
    """ZooKeeper with these znodes; each is below a folder that lists it."""

    def __init__(self, znodes: Mapping[str, Mapping[str, object]]) -> None:
        self._znodes = znodes

    def _ask(self, verb: str, path: str) -> object:
        if verb == "get":
            return json.dumps(self._znodes[path]).encode(), None
        children = [name.rpartition("/")[2] for name in self._znodes if name.rpartition("/")[0] == path]
        if not children:
            raise NoNodeError
        return children


@pytest.mark.parametrize(
    ("place", "content", "owner"),
    [
        ("/namespace", {"httpUrl": "http://10.99.2.31:8080"}, "10.99.2.31"),
        ("/service_unit_state", {"state": "Owned", "dstBroker": "10.99.2.32:8080"}, "10.99.2.32"),
        ("/service_unit_state", {"state": "Releasing", "dstBroker": "10.99.2.32:8080"}, None),
        ("/elsewhere", {}, None),
    ],
)
def test_an_owner_is_found_under_either_load_manager(
    place: str, content: Mapping[str, object], owner: str | None
) -> None:
    assert Held({f"{place}/public/owned/{WHOLE}": content}).owner(TOPIC, 0) == owner
