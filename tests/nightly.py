"""The job of docs/how-to/nightly.md: its script as it stands there, and a checkout in which it runs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bench import places


def script() -> str:
    """The whole job, as the page has it."""
    assert places.CHECKOUT is not None
    page = (places.CHECKOUT / "docs" / "how-to" / "nightly.md").read_text(encoding="utf-8")
    (only_block,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    return str(only_block)


def checkout(folder: Path, command: str) -> Path:
    """Make a folder that the script takes for the checkout, where `bench` is this shell command."""
    made = folder / "ackbench"
    bench = made / ".venv" / "bin" / "bench"
    bench.parent.mkdir(parents=True)
    bench.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    bench.chmod(0o755)
    return made


def job(text: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the script in the folder that holds the checkout."""
    return subprocess.run(
        ["sh", "-c", text],
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
