"""Short commands of the system (ip, nft, iptables, mount), which end soon or are given up."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

_MOST_S = 60.0
_GIVEN_UP = 124
"""The status of a command that did not end, as timeout(1) has it."""


def run(command: Sequence[str], input_text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with `input_text` as its input.

    One that takes longer is ended, and says so in `stderr`.
    """
    try:
        return subprocess.run(
            command, input=input_text, capture_output=True, text=True, check=False, timeout=_MOST_S
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, _GIVEN_UP, "", f"no end within {_MOST_S:g} s")
