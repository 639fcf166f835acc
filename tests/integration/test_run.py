"""The whole way, from a YAML file to a PDF, as a user goes it: `bench run` in a process of its own."""

import csv
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from pypdf import PdfReader

from bench.analysis import analyse
from bench.backends.disks import why_no_power_cut
from bench.run import outside
from bench.run.folder import RunFolder
from bench.systems.memory.faults import Fault, Faults, fault_of

pytestmark = pytest.mark.integration

HEAD = """\
name: {name}
title: A run of the tests
question: Does the whole way hold?
topic: {{partitions: 1}}
warm_up: {{cluster: 200ms, trial: 200ms}}
jit: c1
"""
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


def scenario(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.yaml"
    file.write_text(HEAD.format(name=name) + text, encoding="utf-8")
    return file


def bench(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def finished(*arguments: object) -> str:
    process = bench(*arguments)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    return said


def analysed(folder: RunFolder) -> None:
    """Stands in for `outside.report`."""
    analyse(folder.path)


@pytest.fixture
def measured(tmp_path: Path, spark: object, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Runs a scenario as `bench run` does, with results and without a report, which takes as long again."""
    monkeypatch.setattr(outside, "report", analysed)

    def measured(name: str, text: str, status: int = 0) -> Path:
        chosen = outside.prepare(str(scenario(tmp_path, name, text)), "standard", (), 1)
        assert outside.start(chosen, tmp_path / "out", web=False) == status
        return only(tmp_path / "out")

    return measured


def only(folder: Path) -> Path:
    (run,) = folder.iterdir()
    return run


def rows(run: Path, table: str) -> list[dict[str, str]]:
    with (run / "results" / f"{table}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


def mentioning(path: Path) -> list[int]:
    return [process.pid for process in psutil.process_iter() if str(path) in " ".join(_arguments(process))]


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def late(hit: Sequence[Fault]) -> int:
    """Count the swapped messages that a later one overtook, of one producer in one partition."""
    absent = {Fault.LOSS, Fault.UNKNOWN_ABSENT, Fault.FAIL}
    waiting = overtaken = 0
    for fault in hit:
        if fault is Fault.SWAP and not waiting:
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
        "lost": hit[Fault.LOSS],
        "duplicates": hit[Fault.DUPLICATE],
        "fail_present": hit[Fault.GHOST_FAIL],
        "unknown_present": hit[Fault.GHOST_UNKNOWN],
        "unknown_absent": hit[Fault.UNKNOWN_ABSENT],
        "out_of_order": sum(late(of_one) for of_one in hits.values()),
        "foreign": 0,
    }
    assert {name: int(row[name]) for name in injected} == injected
    assert [name for name, count in injected.items() if not count] == ["foreign"]
    for told in (account_of_page(run / "report.html"), account_of_print(run / "report.pdf")):
        assert told == {name: injected[name] for name in told}
    doubled, swapped = (
        {(p, s) for p, s in sent if fault_of(Faults.of(FAULTS), p, s) is kind}
        for kind in (Fault.DUPLICATE, Fault.SWAP)
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


MANY = "systems: {memory: {producer: {delay_ms: [0.1, 0.2]}}}\nduration: 500ms\nrepeats: 2\n"


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


def test_a_node_that_does_not_start_fails_its_trials_with_the_end_of_its_log_and_the_others_go_on(
    measured: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    text = """\
systems:
  memory: {}
  kafka: {nodes: {broker: 1}, broker: {num.io.threads: 0}}
duration: 500ms
repeats: 1
"""

    trials = {row["system"]: row for row in rows(measured("broken", text, status=1), "trials")}

    assert "no trial of kafka is valid" in capfd.readouterr().err
    assert trials["memory"]["verdict"] == "valid"
    assert trials["kafka"]["state"] == "failed"
    assert "The end of its log" in trials["kafka"]["reason"]
    assert "num.io.threads" in trials["kafka"]["reason"]


def test_both_systems_wait_for_an_emulated_disk_and_lose_nothing(measured: Callable[..., Path]) -> None:
    text = """\
systems:
  kafka: {nodes: {broker: 2}, topic: {replicas: 2, flush.messages: 1}, producer: {acks: all}}
  pulsar: {nodes: {bookie: 2, broker: 1}, topic: {quorums: 2-2-2}}
disk: {emulated_fsync: 5ms}
duration: 1s
repeats: 1
"""

    run = measured("both", text)

    trials = rows(run, "trials")
    assert {row["system"] for row in trials} == {"kafka", "pulsar"}
    for row in trials:
        assert row["verdict"] == "valid", row["reason"]
        assert int(row["acked"]) == int(row["received"]) > 0
        assert int(row["lost"]) == int(row["duplicates"]) == int(row["out_of_order"]) == 0
        assert 5e6 < float(row["service_p50_ns"]) <= float(row["service_p99_ns"])
        assert float(row["fsync_ns"]) > 5e6
        held = json.loads((run / "trials" / f"{int(row['trial']):04d}" / "trial.json").read_text())["disk"][
            "held"
        ]
        for keeper in {"kafka": ("broker-1", "broker-2"), "pulsar": ("bookie-1", "bookie-2")}[row["system"]]:
            # Half of the sends came while the trial settled; those fsyncs are not counted.
            assert held[keeper]["calls"] >= int(row["acked"]) / 4
            assert held[keeper]["p50"] >= 5e6


BROKEN = """\
systems:
  kafka:
    nodes: {{controller: 1, broker: 2}}
    topic: {{replicas: 2}}
    faults:
      - {{name: dark, when: {{acks: 100}}, {fault}: broker-1}}
      - {{name: cut, when: {{after: 100ms}}, isolate: {{target: broker-2, from: all controller}}}}
load: {{rate: 100, message_bytes: 100}}
duration: 10s
repeats: 1
"""


def brokers(run: Path) -> set[str]:
    """The brokers of a run that have a process."""
    said = [" ".join(_arguments(process)) for process in psutil.process_iter()]
    own = [one for one in said if str(run) in one]
    return {name for name in ("broker-1", "broker-2") if any(f"/{name}/" in one for one in own)}


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_ends_while_something_is_broken_leaves_nothing_and_goes_on(
    tmp_path: Path, ending: signal.Signals, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BROKEN.format(fault="kill" if why_no_power_cut() else "power-loss")
    process = bench("run", scenario(tmp_path, "broken", text), "--out", tmp_path / "out")
    until(lambda: (tmp_path / "out").is_dir() and len(list((tmp_path / "out").iterdir())) == 1)
    run = only(tmp_path / "out")
    until(lambda: brokers(run) == {"broker-1", "broker-2"})
    until(lambda: brokers(run) == {"broker-2"})  # dark, and 0.1 s later cut
    time.sleep(1.0)

    process.send_signal(ending)
    process.wait(60)

    until(lambda: not mentioning(run))
    devices = Path("/sys/block").glob("loop*/loop/backing_file")
    until(lambda: not any(str(run) in device.read_text(encoding="utf-8") for device in devices))
    assert str(run) not in Path("/proc/mounts").read_text(encoding="utf-8")
    assert not list((run / "trials").glob("[0-9]*"))
    if ending is signal.SIGKILL:  # what it left in the run's own folder goes with the next one
        monkeypatch.setattr(outside, "report", analysed)
        assert outside.resume(RunFolder(run), web=False) == 0
        (trial,) = rows(run, "trials")
        assert (
            trial["verdict"] == "valid"
        )  # who is fenced first, and so what is lost with the page cache, is a race
    assert not (run / "nodes").exists()


def test_what_a_killed_application_loses_or_doubles_hangs_on_when_it_commits(
    measured: Callable[..., Path],
) -> None:
    text = """\
systems:
  kafka:
    nodes: {controller: 1, broker: 1}
    topic: {replicas: 1}
    processor: {commit: [before, after], batch: 300, work_ms: 3}
    faults: [{name: killed, when: {acks: 1500}, kill: processor, heal: {after: 500ms}}]
load: {rate: 500, window: 100, message_bytes: 100}
duration: 5s
repeats: 1
"""
    before, after = sorted(
        rows(measured("application", text), "trials"), key=lambda row: row["commit"], reverse=True
    )

    assert (before["verdict"], after["verdict"]) == ("valid", "valid")
    assert int(before["lost"]) > 0
    assert int(before["duplicates"]) == 0
    assert int(after["lost"]) == 0
    assert int(after["duplicates"]) > 0


def test_a_full_read_that_stands_still_ends_by_rule_and_tells_where(measured: Callable[..., Path]) -> None:
    """Every other entry has its only copy on the bookie that is killed for good."""
    text = """\
systems:
  pulsar:
    nodes: {zookeeper: 1, bookie: 3, broker: 1}
    topic: {quorums: 2-1-1}
    broker: {dispatcherReadFailureBackoffMaxTimeInMs: 2000}
    faults: [{name: gone, when: {acks: 500}, kill: bookie 1, heal: never}]
load: {rate: 500, window: 50, message_bytes: 100}
consumers: 0
duration: 4s
repeats: 1
"""
    run = measured("blocked", text)

    (trial,) = rows(run, "trials")
    assert (trial["verdict"], trial["account_complete"], trial["lost"]) == ("valid", "false", "")
    assert int(trial["unread"]) > 0
    assert int(trial["received"]) + int(trial["unread"]) >= int(trial["acked"])
    document = json.loads((run / "trials" / "0000" / "trial.json").read_text(encoding="utf-8"))
    assert re.search(r"nothing came for \d+ s, and .*partition 0", document["verify"]["reason"])
