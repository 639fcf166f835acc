"""A Docker daemon for tests, inside their sandbox, and a base image made of this machine's own Java and libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.backends import docker
from bench.backends.docker_images import JAVA
from bench.errors import SetupError

_STARTS_S = 60.0
_SHELL = "/bin/sh"
_LOADED = ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1")
"""What libraries in the servers' jars load."""


def why_no_daemon() -> str | None:
    """Return why no daemon can be started here; None where it can be tried."""
    if shutil.which("dockerd") is None:
        return "there is no dockerd (Debian's docker.io)"
    return None if os.geteuid() == 0 else "dockerd needs root"


@contextmanager
def daemon(folder: Path) -> Iterator[str]:
    """Start a daemon whose data lie below a folder; yield its address. Raises RuntimeError with the end of its log."""
    log, host = folder / "dockerd.log", f"unix://{folder}/docker.sock"
    command = [
        "dockerd",
        "--host",
        host,
        "--data-root",
        str(folder / "data"),
        "--exec-root",
        str(folder / "exec"),
    ]
    command += ["--pidfile", str(folder / "pid"), "--bridge", "none", "--userland-proxy=false"]
    command += ["--iptables=false"]  # its rules would drop what nodes of other tests send each other
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            _await(host, process, log)
            yield host
        finally:
            process.terminate()
            process.wait(30)


def _await(host: str, process: subprocess.Popen[bytes], log: Path) -> None:
    os.environ["DOCKER_HOST"] = host
    deadline = time.monotonic() + _STARTS_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with docker.daemon():
                return
        except SetupError:
            time.sleep(0.2)
    end = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
    message = f"dockerd did not start:\n{end}"
    raise RuntimeError(message)


def make_base(folder: Path) -> None:
    """Import the base image of the servers' images: a shell, Java 17 and the libraries that both load."""
    java_home = Path(shutil.which("java") or "java").resolve().parents[1]
    archive = folder / "base.tar"
    with tarfile.open(archive, "w", dereference=True) as tar:
        for file in sorted(java_home.rglob("*")):
            where = file.relative_to(java_home)
            if file.is_file() and where.parts[0] in {"bin", "conf", "lib"} and file.name != "src.zip":
                tar.add(file, f"opt/java/{where}")
        binaries = [java_home / "bin" / "java", *java_home.glob("lib/**/*.so"), Path(_SHELL)]
        for library in sorted(_libraries(binaries)):
            if not Path(library).resolve().is_relative_to(java_home):
                tar.add(library, library.lstrip("/"))
        tar.add(_SHELL, "bin/sh")
        tar.add("/etc/passwd", "etc/passwd")
        tar.addfile(_folder("tmp"))
    with docker.daemon() as client:
        repository, _, tag = JAVA.partition(":")
        changes = ["ENV PATH=/opt/java/bin:/bin", "ENV JAVA_HOME=/opt/java"]
        client.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=changes)
    archive.unlink()


def _libraries(binaries: list[Path]) -> set[str]:
    """Return the files that the loader needs for some programs and libraries, and for what jars bring."""
    listed = subprocess.run(["ldd", *map(str, binaries)], capture_output=True, text=True, check=False).stdout
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"(/\S+\.so\S*) \(0x", listed)) | set(re.findall(r"=> (/\S+) \(0x", listed))
    for name in _LOADED:
        needed |= set(re.findall(rf"{re.escape(name)} \(libc6,x86-64\S*\) => (\S+)", cache))
    return needed


def _folder(name: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode = tarfile.DIRTYPE, 0o1777
    return made
