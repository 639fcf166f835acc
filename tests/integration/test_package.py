"""The suite as an installed package, without its checkout: a wheel has all that a run and its report need."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import places
from bench.systems import registry
from tests.whole_runs import only, scenario

pytestmark = pytest.mark.integration

BUILT_FROM = ("bench", "clusters", "scenarios", "reports/templates")
"""And the files beside them."""
Command = Callable[..., str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it."""
    assert places.CHECKOUT is not None
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "target"))
    for name in BUILT_FROM:
        shutil.copytree(places.CHECKOUT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (
        *(places.CHECKOUT / name for name in ("pyproject.toml", "setup.py", "LICENSE")),
        *(places.QUESTIONS, places.CORRECTIONS),
    ):
        shutil.copyfile(file, source / file.relative_to(places.CHECKOUT))
    offline = ["--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", target, source],
        check=True,
        capture_output=True,
    )
    return target


@pytest.fixture
def bench(installed: Path, tmp_path: Path) -> Command:
    """Calls the installed command in a folder that is no checkout."""

    def call(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "bench", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_the_catalogue_comes_with_the_package(bench: Command) -> None:
    said = bench("list")

    assert all(file.stem in said for file in places.SCENARIOS.glob("faults/*.yaml"))


def test_labels_of_systems_come_with_the_package(installed: Path) -> None:
    systems = Path(registry.__file__).parent
    labels = list(systems.glob("*/labels.yaml"))

    assert labels
    assert all((installed / "bench" / "systems" / file.relative_to(systems)).exists() for file in labels)


def test_a_run_and_its_report_go_below_the_current_folder(bench: Command, tmp_path: Path) -> None:
    text = "systems: {memory: {}}\nload: {producers: 1}\nduration: 1s\nrepeats: 1\n"

    said = bench("run", scenario(tmp_path, "small", text))

    run = only(tmp_path / "reports" / "out")
    assert {file.name for file in run.iterdir()} >= {"report.html", "report.pdf", "results", "trials"}
    assert str(run / "report.html") in said.replace("\n", "")
