import shutil
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bench.backends import disks
from bench.errors import SetupError


def test_fsync_cost_is_measured_and_leaves_no_file(tmp_path: Path) -> None:
    cost = disks.fsync_cost(tmp_path, calls=20)

    assert 0 < cost["p50"] <= cost["p99"]
    assert cost["calls"] == 20
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_refused_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="GiB free, a run may need"):
        disks.check_space(tmp_path, 2**60)


@pytest.mark.parametrize(("free", "lacking"), [(5, None), (4, "less than 5 % of its disk free")])
def test_a_disk_that_bookies_write_to_no_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, lacking: str | None
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=100 << 30, free=free << 30))

    said = disks.no_space(tmp_path, 1)

    assert said is None if lacking is None else lacking in str(said)


def test_a_disk_whose_name_begins_alike_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/mnt/ssd2 does not lie below /mnt/ssd."""
    mounts = [
        SimpleNamespace(mountpoint="/", fstype="ext4"),
        SimpleNamespace(mountpoint=str(tmp_path / "ssd"), fstype="xfs"),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda *, all: mounts)  # noqa: A006 - psutil's own name

    assert [disks.file_system(tmp_path / name / "out") for name in ("ssd", "ssd2")] == ["xfs", "ext4"]
