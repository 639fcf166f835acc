"""The suite as an installed package, without its checkout: a run, its account and its report need nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pypdf import PdfReader

from bench import places
from bench.systems import registry
from bench.systems.memory.faults import Faults, MessageFault, fault_of
from tests.whole_runs import only, rows, scenario

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


def test_every_injected_fault_and_no_other_is_in_the_account_and_in_the_report(
    bench: Command, tmp_path: Path
) -> None:
    """The whole way, from a YAML file to a PDF; a run and its report go below the current folder."""
    settings = json.dumps(FAULTS)
    text = (
        f"systems: {{memory: {{producer: {settings}}}}}\nload: {{producers: 2}}\nduration: 1s\nrepeats: 1\n"
    )

    said = bench("run", scenario(tmp_path, "faulty", text))

    run = only(tmp_path / "reports" / "out")
    assert {file.name for file in run.iterdir()} >= {"report.html", "report.pdf", "results", "trials"}
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
