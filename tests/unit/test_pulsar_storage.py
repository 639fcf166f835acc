import json
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.model import Node
from bench.systems.pulsar import metadata, storage


class Snapshot:
    """Reads a snapshot as ZooKeeper's FileSnap does."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self.header = self._take(">4siq")
        self.sessions = self._take(">i")[0]
        self.access_lists = [self._access_list() for _ in range(self._take(">i")[0])]
        self.nodes: dict[str, tuple[bytes, int, int]] = {}
        while (path := self._buffer().decode()) != "/":
            self.nodes[path] = self._node()
        self.checked = content[: self._at]
        self.checksum = self._take(">q")[0]
        self.end = self._buffer()
        self.rest = content[self._at :]

    def _take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(form)
        self._at += size
        return struct.unpack(form, self._content[self._at - size : self._at])

    def _buffer(self) -> bytes:
        size = self._take(">i")[0]
        self._at += size
        return self._content[self._at - size : self._at]

    def _access_list(self) -> tuple[int, int, bytes, bytes]:
        number, _, permissions = self._take(">qii")
        return number, permissions, self._buffer(), self._buffer()

    def _node(self) -> tuple[bytes, int, int]:
        """Content, access list, number of changes to the children."""
        content = self._buffer()
        return content, self._take(">q")[0], self._take(">qqqqiiiqq")[5]


def test_a_snapshot_has_header_checksum_and_end() -> None:
    read = Snapshot(storage.snapshot({"/a": b"x"}))

    assert read.header == (b"ZKSN", 2, -1)
    assert read.sessions == 0
    assert read.checksum == zlib.adler32(read.checked)
    assert (read.end, read.rest) == (b"/", b"")


def test_a_snapshot_holds_the_nodes_and_their_parents_before_them() -> None:
    read = Snapshot(storage.snapshot({"/a/b/c": b"x", "/a/d": b""}))

    assert {path: content for path, (content, _, _) in read.nodes.items() if "zookeeper" not in path} == {
        "": b"",
        "/a": b"",
        "/a/b": b"",
        "/a/b/c": b"x",
        "/a/d": b"",
    }
    order = list(read.nodes)
    assert all(order.index(path.rpartition("/")[0]) < order.index(path) for path in order[1:])


def test_a_nodes_child_version_counts_its_children() -> None:
    read = Snapshot(storage.snapshot({"/a/b/c": b"", "/a/d": b""}))

    assert {path: changes for path, (_, _, changes) in read.nodes.items() if path.startswith("/a")} == {
        "/a": 2,
        "/a/b": 1,
        "/a/b/c": 0,
        "/a/d": 0,
    }


def test_zookeepers_own_configuration_is_for_reading_only() -> None:
    read = Snapshot(storage.snapshot({}))

    assert read.access_lists == [(1, 1, b"world", b"anyone")]
    assert read.nodes["/zookeeper/config"][1] == 1
    assert read.nodes["/zookeeper/quota"][1] == -1


def test_a_data_folder_is_what_zookeeper_looks_for(tmp_path: Path) -> None:
    storage.write_snapshot(tmp_path / "data", {"/a": b"x"})

    assert (tmp_path / "data/version-2/snapshot.0").read_bytes() == storage.snapshot({"/a": b"x"})


def test_a_cluster_is_announced_with_all_its_brokers() -> None:
    nodes = [
        Node(f"broker-{number}", "broker", f"10.99.2.3{number}", (), Path(), Path(), (6650, 8080), 0)
        for number in (1, 2)
    ]
    znodes = metadata.znodes(nodes, [])

    announced = json.loads(znodes["/admin/clusters/bench"])
    assert announced["brokerServiceUrl"] == "pulsar://10.99.2.31:6650,10.99.2.32:6650"
    assert announced["serviceUrl"] == "http://10.99.2.31:8080,10.99.2.32:8080"


def test_the_default_namespace_has_whole_bundles() -> None:
    policies = json.loads(metadata.znodes([], [])["/admin/policies/public/default"])

    assert policies["bundles"] == {
        "boundaries": ["0x00000000", "0x40000000", "0x80000000", "0xc0000000", "0xffffffff"],
        "numBundles": 4,
    }


def test_bookies_of_a_group_are_known_to_the_brokers() -> None:
    bookies = [
        Node(
            f"bookie-{number}",
            "bookie",
            f"10.99.2.2{number}",
            (),
            Path(),
            Path(),
            (3181, 8000),
            0,
            group=group,
        )
        for number, group in enumerate(("a", "a", "b"), 1)
    ]

    told = json.loads(metadata.znodes([], bookies)["/bookies"])

    assert {group: list(members) for group, members in told.items()} == {
        "a": ["10.99.2.21:3181", "10.99.2.22:3181"],
        "b": ["10.99.2.23:3181"],
    }
    assert metadata.znodes([], [replace(node, group="") for node in bookies])["/bookies"] == b"{}"


def test_each_cluster_has_an_identity_of_its_own() -> None:
    first, second = metadata.znodes([], []), metadata.znodes([], [])

    assert first["/ledgers/INSTANCEID"] != second["/ledgers/INSTANCEID"]
