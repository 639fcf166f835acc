"""The whole way, from a YAML file to a PDF, as a user goes it, on the in-memory system: it starts no node."""

import json
import re
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pypdf import PdfReader

from bench.systems.memory.faults import Faults, MessageFault, fault_of
from tests.whole_runs import bench, finished, mentioning, only, rows, scenario, until

pytestmark = pytest.mark.integration

FAULTS = {
    "seed": 7,
    "loss": 0.01,
    "duplicates": 0.02,
    "swaps": 0.01,
    "ghost_fails": 0.01,
    "ghost_unknowns": 0.02,
    "unknown_absent": 0.01,
    "fails": 0.01,
}


def late(hit: Sequence[MessageFault]) -> int:
    """Count the swapped messages that a later one overtook, of one producer in one partition."""
    absent = {MessageFault.LOSS, MessageFault.UNKNOWN_ABSENT, MessageFault.FAIL}
    waiting = overtaken = 0
    for fault in hit:
        if fault is MessageFault.SWAP and not waiting:
            waiting = 1
        elif fault not in absent:
            overtaken, waiting = overtaken + waiting, 0
    return overtaken


_TOLD = ("lost", "fail_present", "unknown_present", "unknown_absent", "duplicates", "out_of_order")


def account_of_page(page: Path) -> dict[str, int]:
    """What the row of the delivery account says in the HTML: sent, acked, failed, unknown, lost, and so on."""
    section = page.read_text(encoding="utf-8").partition('id="delivery"')[2]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", section.partition("<tbody")[2].partition("</tr>")[0])
    return account_of(cells)


def account_of_print(paper: Path) -> dict[str, int]:
    """The same from the text of the PDF's pages."""
    text = "\n".join(page.extract_text() for page in PdfReader(paper).pages)
    section = text.partition("Delivery account")[2]
    (line,) = re.findall(r"^(?:Memory|memory)((?: +[\d,]+){11})$", section, flags=re.MULTILINE)[:1]
    return account_of(["Memory", *line.split()])


def offender_of_page(page: Path, kind: str) -> list[str]:
    """The first row of a kind among the offending messages in the HTML."""
    section = page.read_text(encoding="utf-8").partition("Offending messages")[2].partition("<tbody")[2]
    found = (re.findall(r"<td[^>]*>([^<]*)</td>", line) for line in section.split("</tr>"))
    return next(cells for cells in found if cells and cells[0] == kind)


def printed(paper: Path) -> str:
    """The text of a PDF, with one space wherever it has some."""
    return " ".join(" ".join(page.extract_text() for page in PdfReader(paper).pages).split())


def who(message: Mapping[str, str]) -> tuple[int, int]:
    return int(message["producer"]), int(message["sequence"])


def account_of(cells: Sequence[str]) -> dict[str, int]:
    sent, acked, failed, unknown, lost, unread, *others = (int(cell.replace(",", "")) for cell in cells[1:])
    assert sent == acked + failed + unknown
    assert unread == 0
    return dict(zip(_TOLD, (lost, *others), strict=True))


MANY = "systems: {memory: {producer: {delay_ms: [0.1, 0.2]}}}\nduration: 500ms\nrepeats: 2\n"


def test_every_injected_fault_and_no_other_is_in_the_account_and_in_the_report(tmp_path: Path) -> None:
    settings = json.dumps(FAULTS)
    text = (
        f"systems: {{memory: {{producer: {settings}}}}}\nload: {{producers: 2}}\nduration: 1s\nrepeats: 1\n"
    )

    said = finished("run", scenario(tmp_path, "faulty", text), "--out", tmp_path / "out")

    run = only(tmp_path / "out")
    sends = pq.read_table(run / "trials" / "0000" / "sends").to_pydict()
    sent = sorted(zip(sends["producer"], sends["sequence"], strict=True))
    hits = {who: [fault_of(Faults.of(FAULTS), p, s) for p, s in sent if p == who] for who in (0, 1)}
    hit = Counter(fault for of_one in hits.values() for fault in of_one)
    (row,) = rows(run, "trials")
    injected = {
        "sent": len(sent),
        "lost": hit[MessageFault.LOSS],
        "duplicates": hit[MessageFault.DUPLICATE],
        "fail_present": hit[MessageFault.GHOST_FAIL],
        "unknown_present": hit[MessageFault.GHOST_UNKNOWN],
        "unknown_absent": hit[MessageFault.UNKNOWN_ABSENT],
        "out_of_order": sum(late(of_one) for of_one in hits.values()),
        "foreign": 0,
    }
    assert {name: int(row[name]) for name in injected} == injected
    assert [name for name, count in injected.items() if not count] == ["foreign"]
    for told in (account_of_page(run / "report.html"), account_of_print(run / "report.pdf")):
        assert told == {name: injected[name] for name in told}
    doubled, swapped = (
        {(p, s) for p, s in sent if fault_of(Faults.of(FAULTS), p, s) is kind}
        for kind in (MessageFault.DUPLICATE, MessageFault.SWAP)
    )
    listed = rows(run, "messages")
    assert {who(one) for one in listed if one["kind"] == "duplicate"} == doubled
    assert {who(one) for one in listed if one["kind"] == "out_of_order"} <= swapped
    for kind, those in (("duplicate", doubled), ("out of order", swapped)):
        cells = offender_of_page(run / "report.html", kind)
        assert (int(cells[3]), int(cells[8].split()[0])) in those
        assert all(
            re.fullmatch(r"[\d:]+", cells[place]) for place in (5, 6, 7)
        )  # read before it, and where it is
        assert " ".join(cells[:9]) in printed(run / "report.pdf")
    assert str(run / "report.html") in said.replace("\n", "")


def test_a_search_finds_the_capacity_that_theory_gives(measured: Callable[..., Path]) -> None:
    """Sends of a producer follow one another, each for 20 ms on average, by an exponential distribution: D/M/1.

    With m = 50/s the share that takes longer than t is exp(-m (1 - s) t), where s = exp(-m (1 - s) / rate). It is 1 %
    at 200 ms where s = 0.5395, so at 37.3 messages/s of each producer. None can send more than m.
    """
    text = (
        "systems: {memory: {producer: {delay_ms: 20.0, seed: 3}}}\nload: {producers: 16}\nduration: 1s\nrepeats: 1\n"
        "capacity: {response_p99: 200ms, end_to_end_p99: 2s, search: 1s, confirm: 2s, settle: 1s}\n"
    )

    run = measured("capacity", text)

    (row,) = rows(run, "capacities")
    passed, failed = float(row["passed_rate"]), float(row["failed_rate"])
    assert 0.4 * 16 * 37.3 < passed < 1.1 * 16 * 37.3  # less where others have the cores
    assert passed < failed < 2 * 16 * 50
    holds = rows(run, "holds")
    trial = json.loads((run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in holds] == [one["verdict"] for one in trial["holds"]]
    looks = pq.read_table(run / "trials" / "0000" / "telemetry").to_pylist()
    assert {look["slice"] for look in looks if look["metric"] == "cpu_s"} >= {
        one["slice"] for one in trial["holds"]
    }
    (counted,) = rows(run, "trials")
    assert (counted["verdict"], counted["lost"]) == ("valid", "0")


def test_a_killed_run_leaves_nothing_keeps_its_trials_and_goes_on(tmp_path: Path) -> None:
    process = bench("run", scenario(tmp_path, "killed", MANY), "--out", tmp_path / "out")
    until(lambda: len(list((tmp_path / "out").glob("*/trials/[0-9]*/trial.json"))) >= 1)

    process.kill()
    process.wait()

    run = only(tmp_path / "out")
    until(lambda: not mentioning(run))
    first = (run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8")
    finished("run", "--resume", run)
    assert sorted(entry.name for entry in (run / "trials").iterdir()) == [
        f"{number:04d}" for number in range(4)
    ]
    assert (run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8") == first
    assert {"line_ns", "line_after_ns"} < json.loads(first)["machine"].keys()
    assert not (run / "nodes").exists()
    assert len(rows(run, "trials")) == 4


def test_ctrl_c_keeps_the_finished_trials_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = bench("run", scenario(tmp_path, "stopped", MANY), "--out", tmp_path / "out")
    until(lambda: len(list((tmp_path / "out").glob("*/trials/[0-9]*/trial.json"))) >= 1)

    process.send_signal(signal.SIGINT)
    said, _ = process.communicate()

    run = only(tmp_path / "out")
    assert process.returncode == 130, said
    assert "bench run --resume" in said
    assert not (run / "nodes").exists()
    assert not list((run / "trials").glob(".*"))
    until(lambda: not mentioning(run))
