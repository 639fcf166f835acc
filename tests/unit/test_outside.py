"""What the half of a run outside of the sandbox does when the half inside is through."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.backends import sandbox
from bench.errors import AnalysisError
from bench.run import outside

SCENARIO = """\
name: short
title: A short run
question: What if the report fails?
systems: {memory: {}}
duration: 1s
"""


def test_a_report_that_fails_says_that_the_measurements_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: object) -> None:
        raise AnalysisError("Spark could not start.")

    (tmp_path / "short.yaml").write_text(SCENARIO)
    monkeypatch.setattr(sandbox, "run", lambda *_: 0)
    monkeypatch.setattr(outside, "report", fails)

    with pytest.raises(AnalysisError, match="Spark could not start"):
        outside.start(
            outside.prepare(str(tmp_path / "short.yaml"), "standard", (), 1), tmp_path / "out", web=False
        )

    (run,) = (tmp_path / "out").iterdir()
    assert f"bench report {run}" in capsys.readouterr().err
