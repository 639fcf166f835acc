"""A ZooKeeper data folder written without a JVM: a snapshot that holds the znodes a new cluster starts from.

The format is FileSnap's (ZooKeeper 3.5 and later): header, sessions, access control lists, nodes, Adler-32.
What later versions append (digest, last zxid) is optional and left out; ZooKeeper warns of each, and goes on.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench import durable_files

_MAGIC = int.from_bytes(b"ZKSN", "big")
_VERSION = 2
_OPEN = -1  # the built-in list that lets everybody do everything
_READ_ONLY = 1  # number of the one list that this snapshot defines
_READ = 1
_END = "/"


def write_snapshot(data_folder: Path, znodes: Mapping[str, bytes]) -> None:
    """Make `data_folder` hold `znodes` (absolute path to data); missing parents are made, empty.

    The same snapshot serves every member of an ensemble: it is the state at zxid 0, before the first epoch.
    """
    durable_files.write(data_folder / "version-2" / "snapshot.0", snapshot(znodes))


def snapshot(znodes: Mapping[str, bytes]) -> bytes:
    """Serialize the tree of `znodes`, with the nodes ZooKeeper keeps for itself."""
    tree = _with_parents({"/zookeeper/config": b"", "/zookeeper/quota": b"", **znodes})
    body = b"".join(_body(tree))
    return body + struct.pack(">q", zlib.adler32(body)) + _text(_END)


def _with_parents(znodes: Mapping[str, bytes]) -> dict[str, bytes]:
    """Add every missing parent; sorted, so that a parent comes before its children."""
    tree = {"": b"", **znodes}
    for path in znodes:
        while path := path.rpartition("/")[0]:
            tree.setdefault(path, b"")
    return dict(sorted(tree.items()))


def _body(tree: Mapping[str, bytes]) -> Iterator[bytes]:
    yield struct.pack(">iiq", _MAGIC, _VERSION, -1)
    yield struct.pack(">i", 0)  # no sessions
    yield struct.pack(">i", 1) + struct.pack(">qii", _READ_ONLY, 1, _READ) + _text("world") + _text("anyone")
    for path, content in tree.items():
        access = _READ_ONLY if path == "/zookeeper/config" else _OPEN
        yield _text(path) + _buffer(content) + struct.pack(">q", access) + _stat(_children(tree, path))
    yield _text(_END)


def _children(tree: Mapping[str, bytes], path: str) -> int:
    return sum(1 for candidate in tree if candidate and candidate.rpartition("/")[0] == path)


def _stat(children: int) -> bytes:
    """czxid, mzxid, ctime, mtime, version, cversion (a child made is one change), aversion, owner, pzxid."""
    return struct.pack(">qqqqiiiqq", 0, 0, 0, 0, 0, children, 0, 0, 0)


def _text(text: str) -> bytes:
    return _buffer(text.encode())


def _buffer(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content
