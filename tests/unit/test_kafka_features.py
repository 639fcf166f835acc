"""Features of a Kafka cluster: which level a live cluster has."""

from __future__ import annotations

import subprocess

import pytest

from bench.errors import ClusterError
from bench.systems.kafka import features

_VERSIONS = "SupportedMinVersion: {}\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}\tEpoch: 12\n"
_TOLD = (
    "Feature: eligible.leader.replicas.version\t"
    + _VERSIONS.format(0, 1, 1)
    + "Feature: metadata.version\t"
    + _VERSIONS.format("3.3-IV3", "4.3-IV0", "4.3-IV0")
)


def said(monkeypatch: pytest.MonkeyPatch, out: str, status: int = 0, error: str = "") -> None:
    done = subprocess.CompletedProcess([], status, out, error)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)


def test_levels_are_read_from_what_the_tool_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    said(monkeypatch, _TOLD)

    assert features.finalized_levels("jars", "10.99.1.11:9092") == {
        "eligible.leader.replicas.version": "1",
        "metadata.version": "4.3-IV0",
    }


def test_a_tool_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    said(monkeypatch, "", status=1, error="Timed out waiting for a node assignment.")

    with pytest.raises(ClusterError, match=r"10\.99\.1\.11:9092.*status 1: Timed out"):
        features.finalized_levels("jars", "10.99.1.11:9092")
