# ruff: noqa: INP001 - a program of its own, no part of a package
"""Print the properties of the librdkafka that confluent-kafka carries (client-properties.txt is its output).

librdkafka prints its own table of properties; confluent-kafka does not offer that, so it is called directly.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from pathlib import Path

import confluent_kafka

HEADER = """\
# Properties of librdkafka {version}, which confluent-kafka carries. Tab-separated: name, whose (P producer,
# C consumer, * both), default, what it is another name of. Made by list_client_properties.py (README.md).
"""
ROW = re.compile(r"^(\S+)\s+\|\s+([PC*])\s+\|\s*(.*?)\s*\|\s*(.*?)\s*\|\s*(?:low|medium|high)\s*\|\s(.*)$")


def table() -> str:
    """Return librdkafka's own table, in Markdown."""
    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka*"))))
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fclose.argtypes = library.rd_kafka_conf_properties_show.argtypes = [ctypes.c_void_p]
    with tempfile.NamedTemporaryFile() as file:
        stream = libc.fopen(file.name.encode(), b"w")
        library.rd_kafka_conf_properties_show(stream)
        libc.fclose(stream)
        return file.read().decode()


def properties() -> dict[str, tuple[str, str, str]]:
    """Return (whose, default, other name of) by property; what Python can't set (callbacks) is left out."""
    found: dict[str, tuple[str, str, str]] = {}
    for line in table().splitlines():
        row = ROW.match(line)
        if row is None or "*Type: see dedicated API*" in row[5] or "pointer*" in row[5]:
            continue
        other = re.match(r"(?:\*\*DEPRECATED\*\* )?Alias for `([^`]+)`", row[5])
        # The global table comes first, and its properties win over the topic table's of the same name.
        found.setdefault(row[1], (row[2], row[4], other[1] if other else ""))
    return found


def listing() -> str:
    """Return the text of client-properties.txt."""
    rows = ("\t".join((name, *rest)).rstrip() for name, rest in sorted(properties().items()))
    return HEADER.format(version=confluent_kafka.libversion()[0]) + "".join(f"{row}\n" for row in rows)


if __name__ == "__main__":
    print(listing(), end="")  # noqa: T201 - that is what this program is for
