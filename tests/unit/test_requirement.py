"""The file that says what a cluster must carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import ScenarioError
from bench.scenario.requirement import read_requirement

_TEXT = """\
messages_per_s: 10000
message_bytes: 1000
copies: 3
groups: 2
retention: 72h
growth: 1.5
messages_per_batch: 20
peak_over_mean: 2
nodes:
  broker: {cores: 8, network: 10gbit, disk_write: 500MB/s, disk: 2TB, price: 400}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "requirement.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_requirement_is_read_in_base_units(tmp_path: Path) -> None:
    wanted, nodes = read_requirement(written(tmp_path, _TEXT))

    assert wanted.peak.messages_per_s == pytest.approx(30_000)
    assert wanted.peak.batch == 20
    assert wanted.stored_bytes == pytest.approx(15_000 * 1_000 * 3 * 72 * 3_600)
    assert (wanted.node_failures, wanted.utilisation, wanted.disk_filled) == (1, 0.6, 0.75)
    broker = nodes["broker"]
    assert (broker.cores, broker.network, broker.disk_write) == (8, 1.25e9, 500e6)
    assert (broker.disk, broker.price) == (2e12, 400)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("groups:", "group:"), r"requirement\.yaml:4: group: there is no such key; did you mean 'groups'\?"),
        (("cores: 8", "cores: 0"), r"requirement\.yaml:10: nodes\.broker\.cores: greater than 0"),
        (("disk: 2TB", "disk: 2"), r"nodes\.broker\.disk: the size of a disk is a number with its unit"),
        (("disk: 2TB, ", ""), r"nodes\.broker.*'disk' is missing"),
        (("retention: 72h", "retention: 3 days"), r":5: retention: a duration is a number with its unit"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read_requirement(written(tmp_path, _TEXT.replace(*change)))
