"""Kafka's own command-line tools, each a JVM of its own."""

from __future__ import annotations

import subprocess

from bench.errors import ClusterError

_MOST_S = 120.0
_JAVA = ("java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def run_tool(class_path: str, tool: str, arguments: list[str], doing: str) -> str:
    """Run a tool and return what it printed; raises ClusterError with `doing` and what the tool said."""
    command = [*_JAVA, "-cp", class_path, tool, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_MOST_S)
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{doing}: {tool} did not end within {_MOST_S:.0f} s.") from error
    if done.returncode:
        output = done.stderr.strip() or done.stdout.strip()
        raise ClusterError(f"{doing}: {tool} ended with status {done.returncode}: {output}")
    return done.stdout
