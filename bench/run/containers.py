"""Runs whose servers are containers: the daemon, the images, and what an earlier run left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.backends import docker
from bench.backends.docker_images import images_by_name
from bench.errors import SetupError
from bench.model import DOCKER
from bench.run import machine_lock

if TYPE_CHECKING:
    from bench.run.plan import Plan


def prepare(plan: Plan) -> dict[str, str]:
    """Remove what killed runs left, and have every image that a plan needs; return the images' ids by name.

    Empty for a plan without containers. Raises SetupError where there is no daemon, image or right.
    """
    if plan.backend != DOCKER:
        return {}
    if os.geteuid() != 0:
        message = "--backend docker needs root: it measures containers and breaks their network from outside"
        raise SetupError(message)
    with docker.daemon() as client:
        docker.remove_left(client)
        clusters = [trial.case.cluster for trial in plan.trials]
        images = images_by_name(client, ((cluster.system, cluster.version) for cluster in clusters))
    return {name: image.reference for name, image in images.items()}


def clean(*, dry_run: bool = False) -> list[str]:
    """Remove the containers and networks that killed runs left; return their names. With `dry_run` they stay.

    Raises SetupError.
    """
    with machine_lock.on_machine("bench clean"), docker.daemon() as client:
        return docker.remove_left(client, dry_run=dry_run)
