"""A node's storage, formatted without a JVM: what `kafka-storage.sh format` writes, about 1.5 s sooner.

meta.properties says whose cluster and node a log folder is. A controller has the first metadata records (feature
levels) beside it, as the first snapshot of the metadata log. They are the same for every cluster of one Kafka version;
those in clusters/kafka belong to 4.4. Other versions are formatted by Kafka's own tool.
"""

from __future__ import annotations

import base64
import uuid
from pathlib import Path

from bench import durable_files
from bench.model import Settings, text
from bench.systems.kafka.tools import run_tool

_CHECKPOINT_OF = "4.4."
_FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
_TOOL = "kafka.tools.StorageTool"


def kafka_uuid() -> str:
    """Return a random id in Kafka's own form: 22 letters of URL-safe base64, not beginning with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def can_copy(version: str) -> bool:
    """Whether the checkpoint in clusters/kafka fits this version."""
    return version.startswith(_CHECKPOINT_OF)


def format_by_copy(data: Path, cluster_id: str, node_id: int, checkpoint: bytes | None) -> None:
    """Format one node's log folder for a version whose checkpoint is given; brokers have none."""
    meta = {"version": 1, "cluster.id": cluster_id, "node.id": node_id, "directory.id": kafka_uuid()}
    lines = "".join(f"{name}={value}\n" for name, value in meta.items())
    durable_files.write(data / "meta.properties", lines.encode())
    if checkpoint is not None:
        durable_files.write(data / _FIRST_SNAPSHOT, checkpoint)


def format_by_tool(
    class_path: str, cluster_id: str, configuration: Path, data: Path, features: Settings
) -> None:
    """Format one node's log folder with the server's own tool; `features` have their levels by name.

    Raises ClusterError with what the tool said.
    """
    arguments = ["format", "-t", cluster_id, "-c", str(configuration)]
    arguments += [part for name, level in features.items() for part in ("--feature", f"{name}={text(level)}")]
    run_tool(class_path, _TOOL, arguments, f"Formatting {data}")
    durable_files.sync(*(path for path in data.iterdir() if path.is_file()), data, data.parent)
