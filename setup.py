"""Puts the files that are no code into a built package, where bench/places.py looks for them."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

FILES = ("clusters", "scenarios", "reports/templates", "reports/questions.yaml", "reports/corrections.yaml")


class BuildWithFiles(build_py):
    """Builds the package as pyproject.toml says; an editable one reads the checkout's own files."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if self.editable_mode:
            return
        for name in FILES:
            source, target = Path(name), Path(self.build_lib, "bench", "files", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("target"))
            else:
                shutil.copyfile(source, target)


setup(cmdclass={"build_py": BuildWithFiles})
