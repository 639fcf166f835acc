"""Where files are that are no code, and where runs go: of a checkout its own folders.

An installed package has its own copy of them (setup.py). Its runs go below the folder in which `bench` is called.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
CHECKOUT: Path | None = _PACKAGE.parent if (_PACKAGE.parent / "clusters").is_dir() else None
_FILES = CHECKOUT or _PACKAGE / "files"
CLUSTERS, SCENARIOS = _FILES / "clusters", _FILES / "scenarios"
TEMPLATES = _FILES / "reports" / "templates"
QUESTIONS, CORRECTIONS = (_FILES / "reports" / name for name in ("questions.yaml", "corrections.yaml"))
_REPORTS = (CHECKOUT or Path.cwd()) / "reports"
RUNS, PUBLISHED = _REPORTS / "out", _REPORTS / "published"
