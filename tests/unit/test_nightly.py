"""What the job of docs/how-to/nightly.md makes of each exit status; `bench` is a stand-in that has it."""

import os
from pathlib import Path

import pytest

from tests import nightly

BENCH = """\
echo "$@" >> calls
case $1 in
    run) mkdir -p reports/out/$NIGHT-acks-sweep-standard; exit $RUN_ENDS ;;
    compare) touch compare.xml compare.md; mkdir -p reports/out/compare-1-acks-sweep-standard; exit $COMPARE_ENDS ;;
esac"""


def night(folder: Path, number: int, run_ends: int = 0, compare_ends: int = 0) -> int:
    """Run the job in night 1, 2, … of November; return its exit status."""
    environment = {"NIGHT": f"202611{number:02d}-020000", "RUN_ENDS": run_ends, "COMPARE_ENDS": compare_ends}
    text = {name: str(value) for name, value in environment.items()}
    return nightly.job(nightly.script(), folder, {**os.environ, **text}).returncode


def last_good(checkout: Path) -> str:
    return (checkout / "reports" / "out" / "last-good").resolve().name


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return nightly.checkout(tmp_path, BENCH)


def test_the_first_night_is_the_reference(checkout: Path, tmp_path: Path) -> None:
    assert night(tmp_path, 1) == 0

    assert last_good(checkout) == "20261101-020000-acks-sweep-standard"
    assert "compare" not in (checkout / "calls").read_text(encoding="utf-8")


def test_a_run_without_a_worse_case_is_the_next_reference(checkout: Path, tmp_path: Path) -> None:
    night(tmp_path, 1)
    assert night(tmp_path, 2) == 0
    assert last_good(checkout) == "20261102-020000-acks-sweep-standard"

    assert night(tmp_path, 3) == 0

    assert last_good(checkout) == "20261103-020000-acks-sweep-standard"
    compared = (checkout / "calls").read_text(encoding="utf-8").splitlines()[-1]
    assert compared.startswith(
        "compare reports/out/last-good reports/out/20261103-020000-acks-sweep-standard "
    )


@pytest.mark.parametrize("status", [1, 2, 3])
def test_a_run_that_is_not_good_ends_the_job_with_the_status_of_the_comparison(
    checkout: Path, tmp_path: Path, status: int
) -> None:
    night(tmp_path, 1)

    assert night(tmp_path, 2, compare_ends=status) == status

    assert last_good(checkout) == "20261101-020000-acks-sweep-standard"
    assert (checkout / "compare.md").exists()


def test_a_run_that_fails_ends_the_job_and_leaves_no_comparison_of_the_night_before(
    checkout: Path, tmp_path: Path
) -> None:
    night(tmp_path, 1)
    night(tmp_path, 2)

    assert night(tmp_path, 3, run_ends=1) == 1

    assert last_good(checkout) == "20261102-020000-acks-sweep-standard"
    assert not (checkout / "compare.md").exists()
    assert not (checkout / "compare.xml").exists()
