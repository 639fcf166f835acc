"""Runs in a store, on a real S3 server: made, read, reported, exported and compared by their URIs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import places
from bench.cli import app
from bench.errors import SetupError
from tests import s3_server, whole_runs

pytestmark = pytest.mark.integration

SMALL = "systems: {memory: {}}\nduration: 1s\nload: {producers: 2, rate: 500}\nconsumers: 1\nrepeats: 1\n"
Command = Callable[..., str]


@pytest.fixture
def query(in_sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    assert s3_server.home().is_dir(), "make test fetches the S3 server"
    for name, value in s3_server.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with s3_server.running(tmp_path / "s3") as end:
        yield end


@pytest.fixture
def bench(tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Calls the command; runs that go to a store are made in a folder of the test."""
    monkeypatch.setattr(places, "RUNS", tmp_path / "out")

    def call(*arguments: object, status: int = 0) -> str:
        done = CliRunner().invoke(
            app, list(map(str, arguments)), env={"COLUMNS": "200"}, catch_exceptions=False
        )
        assert done.exit_code == status, done.output
        return done.output

    return call


def test_a_run_is_made_reported_exported_and_compared_in_a_store(
    tmp_path: Path, query: str, bench: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        whole_runs.without_analysis(patched)
        made = bench(
            "run", whole_runs.scenario(tmp_path, "small", SMALL), "--out", f"s3://runs/nightly?{query}"
        )
    uri = re.findall(r"stored at (\S+)", made)[-1]
    name = uri.partition("?")[0].rpartition("/")[2]
    stored = tmp_path / "s3" / "data" / "runs" / "nightly" / name

    assert list((tmp_path / "out").iterdir()) == []
    assert (stored / "manifest.json").is_file()
    assert list(stored.glob("trials/0000/sends/*.parquet"))

    bench("report", uri)
    bench("export", name, "--out", f"s3a://runs/nightly?{query}")
    bench("compare", uri, uri, "--out", tmp_path / "out", status=3)  # one trial decides nothing

    assert (stored / "report.html").is_file()
    assert (stored / "report.pdf").is_file()
    assert (stored / "export" / "tidy.csv").is_file()
    assert "Does the whole way hold?" in bench("explain", uri)


@pytest.mark.parametrize(
    ("place", "secret", "complaint"),
    [
        ("s3://runs/nightly?{}", "not-that-one", "ACCESS_DENIED"),
        ("s3://nowhere/nightly?{}", s3_server.SECRET, "Bucket 'nowhere' not found"),
    ],
    ids=["wrong secret", "no such bucket"],
)
def test_what_cannot_be_stored_is_refused_before_anything_starts(  # noqa: PLR0917 - two are fixtures
    tmp_path: Path,
    query: str,
    bench: Command,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    secret: str,
    complaint: str,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    out = place.format(query)

    with pytest.raises(SetupError, match=complaint) as failure:
        bench("run", whole_runs.scenario(tmp_path, "small", SMALL), "--out", out)

    assert f"writing to it at {out.partition('?')[0]}" in str(failure.value)
    assert secret not in str(failure.value)
    assert not (tmp_path / "out").exists()
