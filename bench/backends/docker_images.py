"""The images of servers: those that were built here, the systems' own where they can be pulled, or built then."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import requests

from bench import places
from bench.backends import artifacts
from bench.errors import SetupError
from bench.systems.registry import describe

if TYPE_CHECKING:
    import docker

JAVA = "ackbench/java:17"
"""What images are built on where it is there, instead of the base that the Dockerfiles name."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image of servers: `reference` is its id, `class_path` where its jars are, `name` what it is called."""

    name: str
    reference: str
    class_path: str


def image_of(client: docker.DockerClient, system: str, version: str) -> Image:
    """Return the image of a system's version, which is pulled or built if it is not there yet. Raises SetupError."""
    image_spec = describe(system).image
    if image_spec is None:
        message = f"--backend docker: there is no image of {system}"
        raise SetupError(message)
    built, official = f"ackbench/{system}:{version}", f"{image_spec.name}:{version}"
    for name in (built, official):
        if (reference := _local(client, name)) is not None:
            return Image(name, reference, image_spec.class_path)
    if (reference := _pull(client, official)) is not None:
        return Image(official, reference, image_spec.class_path)
    return Image(built, _build(client, system, version, built), image_spec.class_path)


def _local(client: docker.DockerClient, name: str) -> str | None:
    from docker.errors import ImageNotFound  # noqa: PLC0415 - only runs in containers need it

    try:
        return str(client.images.get(name).id)
    except ImageNotFound:
        return None


def _pull(client: docker.DockerClient, name: str) -> str | None:
    """Pull an image; None where no registry has it, or none is reached."""
    from docker.errors import APIError  # noqa: PLC0415 - as above

    repository, _, tag = name.partition(":")
    try:
        return str(client.images.pull(repository, tag).id)
    except (APIError, requests.RequestException):
        return None


def _build(client: docker.DockerClient, system: str, version: str, name: str) -> str:
    """Build an image of the jars that Maven fetched."""
    from docker.errors import APIError, BuildError  # noqa: PLC0415 - as above

    base = {"BASE": JAVA} if _local(client, JAVA) is not None else {}
    dockerfile = places.CLUSTERS / system / "Dockerfile"
    with tempfile.TemporaryDirectory(prefix="bench-image-") as folder:
        context = Path(folder)
        shutil.copyfile(dockerfile, context / "Dockerfile")
        shutil.copytree(artifacts.server_home(system, version) / "lib", context / "lib")
        try:
            image, _ = client.images.build(
                path=folder, tag=name, buildargs=base, rm=True, labels={"ackbench.version": version}
            )
        except (APIError, BuildError) as error:
            message = (
                f"building the image {name} by {dockerfile} failed: {error}. Where no registry is reached, import a "
                f"base with Java 17 as {JAVA} (docs/how-to/docker.md)."
            )
            raise SetupError(message) from error
    return str(image.id)


def images_by_name(
    client: docker.DockerClient, system_versions: Iterable[tuple[str, str]]
) -> dict[str, Image]:
    """Return the image of each system and version, by its name. Raises SetupError."""
    images = [image_of(client, system, version) for system, version in dict.fromkeys(system_versions)]
    return {image.name: image for image in images}
