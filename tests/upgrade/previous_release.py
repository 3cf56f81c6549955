"""The release before this one, as it was: whoever upgrades machine by machine runs it beside ours.

It runs on this release's packages, for there is one .venv.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Whatever git knows it by. To be changed with each release, to the tag of the one before it.
PREVIOUS = "3b5888a"


@cache
def missing() -> str:
    """Why it cannot be had here; empty when it can."""
    try:
        _git("cat-file", "-e", f"{PREVIOUS}^{{commit}}")
    except (OSError, subprocess.CalledProcessError):
        return f"{PREVIOUS} is not in this checkout: it takes a whole clone (git fetch --unshallow)"
    return ""


def unpack(folder: Path) -> Path:
    """Its files, into this folder."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", PREVIOUS))) as archive:
        archive.extractall(folder, filter="data")
    return folder


def manage(checkout: Path, *arguments: str, **environment: str) -> None:
    """Its manage.py."""
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=checkout,
        env={**os.environ, **environment},
        check=True,
    )


def make_its_own_tables(checkout: Path, database: str) -> None:
    """Of apps that only it has: where it ran before, they are there."""
    manage(checkout, "migrate", "axes", "--no-input", "-v", "0", DATABASE_URL=database)


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout
