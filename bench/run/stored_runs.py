"""Runs that lie at a URI, such as s3:// or hdfs://: copied to this machine to be read, and back what a command made.

A run is made on this machine, as only a file system can hold what a killed run leaves. Its manifest.json goes last.
So a run that was copied in part is none.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from bench import places
from bench.errors import EventLogError, SetupError
from bench.run import folder as run_folder
from bench.run.folder import RunFolder

_MANIFEST = "manifest.json"
_AT_A_TIME = 16
"""So many files are copied at a time: most of what a small one takes is waiting."""
_TRIAL_DOCUMENT_DEPTH = 3
"""trials/<number>/trial.json; what lies deeper is the event log."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder at a URI, with pyarrow's access to it."""

    uri: str
    system: Any
    path: str

    def files(self) -> set[str]:
        """Return the paths of all files below it, as from it; none where it is not there."""
        selector = fs.FileSelector(self.path, recursive=True, allow_not_found=True)
        infos = self.system.get_file_info(selector)
        return {info.path[len(self.path) + 1 :] for info in infos if info.type is fs.FileType.File}

    def has(self, file: str) -> bool:
        return bool(self.system.get_file_info(f"{self.path}/{file}").type is fs.FileType.File)

    def fetch(self, file: str, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        with self.system.open_input_stream(f"{self.path}/{file}") as source, to.open("wb") as target:
            shutil.copyfileobj(source, target)

    def put(self, file: str, source: Path) -> None:
        path = f"{self.path}/{file}"
        self.system.create_dir(path.rpartition("/")[0], recursive=True)
        with source.open("rb") as content, self.system.open_output_stream(path) as target:
            shutil.copyfileobj(content, target)

    def delete(self, file: str) -> None:
        self.system.delete_file(f"{self.path}/{file}")


def is_uri(place: str) -> bool:
    """Whether a place is given as a URI, not as a folder of this machine."""
    return "://" in place


def store_uri(out: str) -> str | None:
    """Return `out` where it is a URI."""
    return out if is_uri(out) else None


def local_out(out: str) -> Path:
    """Return the folder of this machine in which a run is made that goes to `out`."""
    return places.RUNS if is_uri(out) else Path(out)


def require_writable(store: str) -> None:
    """Try to write to a URI. Raises SetupError where that fails."""
    with _readable_errors(store, "writing to it"), tempfile.NamedTemporaryFile() as empty:
        folder, probe = _folder(store), f".bench-{Path(empty.name).name}"
        folder.put(probe, Path(empty.name))
        folder.delete(probe)


def store(folder: RunFolder, out: str) -> str:
    """Copy a run below the URI `out`; return its URI. Raises SetupError; the run is whole on this machine then."""
    run_uri = _below(out, folder.path.name)
    with _readable_errors(run_uri, "storing the run"):
        _put_all(folder.path, _folder(run_uri), _local_files(folder.path))
    return run_uri


@contextmanager
def open_run(run: str, out: str, *, event_log: bool = False, changes: bool = False) -> Iterator[RunFolder]:
    """Give a run folder by path, by URI, or by its name below `out`.

    One at a URI is copied to a temporary folder, its event log only where that is needed. With `changes` what the body
    changed beside the event log is copied back at its end, unless that failed.

    Raises EventLogError where there is no such run, SetupError where it cannot be copied.
    """
    if not is_uri(run) and (not is_uri(out) or (Path(run) / _MANIFEST).is_file()):
        yield run_folder.find(run, Path(out))
        return
    run_uri = run if is_uri(run) else _below(out, run)
    with tempfile.TemporaryDirectory(prefix="bench-run-") as scratch:
        local = Path(scratch) / run_uri.partition("?")[0].rstrip("/").rpartition("/")[2]
        with _readable_errors(run_uri, "reading the run"):
            _fetch_all(_folder(run_uri), local, event_log=event_log)
        yield RunFolder(local)
        if changes:
            with _readable_errors(run_uri, "storing what was made"):
                _replace(local, _folder(run_uri))


def _below(uri: str, name: str) -> str:
    base, query_mark, query = uri.partition("?")
    return f"{base.rstrip('/')}/{name}{query_mark}{query}"


def _folder(uri: str) -> _Folder:
    """Return the folder at a URI. `s3a` is Hadoop's name for s3; a query (endpoint_override and so on) is pyarrow's."""
    base, _, query = uri.partition("?")
    base = base.rstrip("/").replace("s3a://", "s3://", 1)
    # A small file is then one request, not three.
    options = [query, "allow_delayed_open=true" if base.startswith("s3://") else ""]
    system, path = fs.FileSystem.from_uri("?".join(filter(None, (base, "&".join(filter(None, options))))))
    return _Folder(uri, system, path.rstrip("/"))


def _fetch_all(folder: _Folder, to: Path, *, event_log: bool) -> None:
    """Copy a run here. Raises EventLogError where there is none."""
    if not folder.has(_MANIFEST):
        message = f"{folder.uri}: no run folder (one that holds {_MANIFEST})"
        raise EventLogError(message)
    files = [file for file in folder.files() if event_log or not _in_event_log(file)]
    _for_each(lambda file: folder.fetch(file, to / file), files)


def _replace(local: Path, folder: _Folder) -> None:
    """Copy all but the event log back, and delete what is no longer there."""
    files = [file for file in _local_files(local) if not _in_event_log(file)]
    stale = [file for file in folder.files() if not _in_event_log(file) and file not in files]
    _put_all(local, folder, files)
    _for_each(folder.delete, stale)


def _put_all(local: Path, folder: _Folder, files: Iterable[str]) -> None:
    """Copy files there, the manifest last."""
    _for_each(lambda file: folder.put(file, local / file), [file for file in files if file != _MANIFEST])
    folder.put(_MANIFEST, local / _MANIFEST)


def _local_files(local: Path) -> list[str]:
    """Return the paths of a run's files as from its folder, without what is hidden, such as its lock."""
    paths = (path.relative_to(local) for path in local.rglob("*") if path.is_file())
    return [str(path) for path in paths if not any(part.startswith(".") for part in path.parts)]


def _in_event_log(file: str) -> bool:
    parts = Path(file).parts
    return parts[0] == "trials" and len(parts) > _TRIAL_DOCUMENT_DEPTH


def _for_each(act: Callable[[str], object], files: Iterable[str]) -> None:
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        list(pool.map(act, files))


@contextmanager
def _readable_errors(uri: str, doing: str) -> Iterator[None]:
    """Turn what pyarrow and the store say into one sentence. Raises SetupError."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        first_line = str(error).strip().partition("\n")[0].rstrip(".")
        message = f"{doing} at {uri}: {first_line}. docs/how-to/runs-at-a-uri.md says what a store needs"
        raise SetupError(message) from error
