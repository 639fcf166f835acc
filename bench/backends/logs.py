"""The nodes' logs."""

from __future__ import annotations

from bench.model import Node

_LINES = 25


def end(node: Node) -> str:
    """Return the last lines of a node's log, introduced, for an error message."""
    try:
        lines = node.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:]
    except OSError as error:
        return f"Its log cannot be read: {error}"
    return "\n".join([f"The end of its log ({node.log.name}):", *(f"  {line}" for line in lines)])
