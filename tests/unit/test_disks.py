from pathlib import Path

import pytest

from bench.backends import disks
from bench.errors import SetupError


def test_fsync_cost_is_measured_and_leaves_no_file(tmp_path: Path) -> None:
    cost = disks.fsync_cost(tmp_path, calls=20)

    assert 0 < cost["p50"] <= cost["p99"]
    assert cost["calls"] == 20
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_refused_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="GiB free, the run may need"):
        disks.check_space(tmp_path, 2**60)
