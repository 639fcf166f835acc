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
    asked = read_requirement(written(tmp_path, _TEXT))

    wanted = asked.requirement
    assert wanted.peak.messages_per_s == pytest.approx(30_000)
    assert wanted.peak.batch == 20
    assert wanted.stored_bytes == pytest.approx(15_000 * 1_000 * 3 * 72 * 3_600)
    assert (wanted.node_failures, wanted.utilisation, wanted.disk_filled) == (1, 0.6, 0.75)
    broker = asked.nodes["broker"]
    assert (broker.cores, broker.network, broker.disk_write) == (8, 1.25e9, 500e6)
    assert (broker.disk, broker.price) == (2e12, 400)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("groups:", "group:"), r"requirement\.yaml:4: group: there is no such key; did you mean 'groups'\?"),
        (("cores: 8", "cores: 0"), r"requirement\.yaml:10: nodes\.broker\.cores: greater than 0"),
        (("disk: 2TB", "disk: 2"), r"nodes\.broker\.disk: the size of a disk is a number with its unit"),
        (("disk: 2TB, ", ""), r"nodes\.broker.*'disk' is missing"),
        (("copies: 3\n", ""), r"requirement\.yaml:1: copies: the key is missing: give copies, or guarantee"),
        (
            ("copies: 3", "guarantee: survives two nodes"),
            r":3: guarantee: say what an acknowledged message survives: no copy, survives one node, .*; or as reports",
        ),
        (
            ("copies: 3", "copies: 1\nguarantee: survives one node"),
            r":3: copies: 1 is too few .* nodes: it takes 2; guarantee: survives one node\. Leave one of both",
        ),
        (
            ("copies: 3", "guarantee: no copy\ncopies: 2"),
            r":4: copies: 2 promise more than a message that survives neither the loss of its node nor a power cut",
        ),
        (("copies: 3", "copies: 3\np99: 50ms"), r":4: p99: add guarantee"),
        (("growth: 1.5", "partition: {write: 10MB/s}"), r":6: partition: the key 'read' is missing"),
        (("retention: 72h", "retention: 3 days"), r":5: retention: a duration is a number with its unit"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read_requirement(written(tmp_path, _TEXT.replace(*change)))


@pytest.mark.parametrize(
    ("words", "copies"),
    [
        ("no copy", 1),
        ("survives one node", 2),
        ("the loss of any two nodes, and a power cut of all nodes", 3),
        ("the loss of a node only once another copy is written, not a power cut of all nodes", 2),
    ],
)
def test_a_guarantee_is_read_in_the_words_of_reports(tmp_path: Path, words: str, copies: int) -> None:
    """Without a number of copies it is the fewest that may give the guarantee: the lost ones, and one that is left."""
    asked = read_requirement(written(tmp_path, _TEXT.replace("copies: 3", f"guarantee: {words}\np99: 20ms")))

    assert asked.guarantee is not None
    assert (asked.copies, asked.requirement.mean.copies, asked.p99_s) == (None, copies, 0.02)
