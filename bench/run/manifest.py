"""What the run ran on: everything a reader needs to judge whether two runs may be compared."""

from __future__ import annotations

import math
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from bench import places
from bench.backends import disks
from bench.backends.machine import java_version, machine
from bench.run.folder import RunFolder, now_utc
from bench.run.plan import Plan
from bench.systems.endpoint import parse
from bench.systems.registry import describe

_LIBRARIES = ("locust", "pyspark", "gevent", "pyarrow")


def manifest(
    folder: RunFolder, plan: Plan, agents: int = 0, images: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Build manifest.json (docs/event-log.md); measures what one fsync costs where the servers keep their data."""
    scenario = plan.loaded.scenario
    return {
        "format": 1,
        "run": folder.path.name,
        "scenario": scenario.name,
        "profile": plan.loaded.profile,
        "seed": plan.seed,
        "title": scenario.title,
        "question": scenario.question,
        "source": scenario.source,
        "overrides": list(plan.loaded.overrides),
        "cluster_warm_up_s": scenario.warm_up.cluster,
        "budget_s": None if scenario.budget in {None, math.inf} else scenario.budget,
        "precision": scenario.precision,
        "smallest_effect": scenario.smallest_effect,
        "baseline": plan.baselines(),
        "looks": 0,
        "started_utc": now_utc(),
        "ended_utc": None,
        **ran_on(folder, plan, agents, images),
        "fsync_ns": {} if plan.external else disks.fsync_cost(folder.path),  # no server writes here
        "timings_s": {},
        "expectations": [
            e.model_dump(exclude_none=True, exclude_defaults=True)
            for e in scenario.expectations
            if not plan.external or e.systems <= plan.external.keys()
        ],
    }


def ran_on(
    folder: RunFolder, plan: Plan, agents: int = 0, images: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the ground that all trials of a run share: the suite, the machine, and every version."""
    return {
        "bench": suite(),
        "backend": "external" if plan.external else plan.backend,
        **({"clusters": _clusters(plan)} if plan.external else {}),
        "load": {"machines": agents},
        **({"images": dict(images)} if images else {}),
        "machine": machine(folder.path),
        "versions": versions(_servers(plan)),
    }


def _servers(plan: Plan) -> dict[str, str]:
    """Return the servers' version of each system; of several the oldest comes first."""
    versions_by_system: dict[str, set[str]] = {}
    for trial in plan.trials:
        versions_by_system.setdefault(trial.case.system, set()).add(trial.case.cluster.version or "unknown")
    return {
        system: ", ".join(sorted(server_versions, key=_version_key))
        for system, server_versions in versions_by_system.items()
    }


def _version_key(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


def _clusters(plan: Plan) -> dict[str, str]:
    """Say of each external cluster where it is."""
    return {system: parse(cluster.endpoint).display_address for system, cluster in plan.external.items()}


def differences(manifest_ground: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say in what the ground differs from that in a manifest, key by key."""
    return [
        f"{key} {name} was {manifest_ground.get(key, {}).get(name)} and is {value}"
        for key, values in now.items()
        if isinstance(values, Mapping)
        for name, value in values.items()
        if manifest_ground.get(key, {}).get(name) != value
    ]


def suite() -> dict[str, Any]:
    """Return the suite's own version and git revision."""
    return {
        "version": metadata.version("bench"),
        "git": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain")),
    }


def _git(*arguments: str) -> str | None:
    if places.CHECKOUT is None:
        return None
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=places.CHECKOUT, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def versions(servers: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of Python, Java, the libraries that touch a message, and the servers."""
    version_by_name = {"python": platform.python_version(), "java": java_version()}
    version_by_name |= {name: metadata.version(name) for name in _LIBRARIES}
    for system in servers:
        version_by_name |= describe(system).client_versions()
    return version_by_name | dict(servers)
