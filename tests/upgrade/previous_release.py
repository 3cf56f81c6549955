"""The previous release, unpacked from git: during an upgrade it runs beside this one.

It runs on this release's packages, because there is one .venv.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from functools import cache
from pathlib import Path

from tests.servers.forked import run_bare

ROOT = Path(__file__).resolve().parents[2]
# The commit or tag of the previous release: change it with each release.
PREVIOUS = "ea5970b9"  # 0.1.0


@cache
def missing(commit: str = PREVIOUS) -> str:
    """Why it cannot be had here; empty when it can."""
    try:
        _git("cat-file", "-e", f"{commit}^{{commit}}")
    except (OSError, subprocess.CalledProcessError):
        return f"{commit} is not in this checkout: it takes a whole clone (git fetch --unshallow)"
    return ""


def unpack(folder: Path, commit: str = PREVIOUS) -> Path:
    """Its files, into this folder."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
        archive.extractall(folder, filter="data")
    return folder


def manage(checkout: Path, *arguments: str, url: str) -> str:
    """Its manage.py on this database; what it said."""
    code, said = run_bare(
        "manage", *arguments, environment={**os.environ, "DATABASE_URL": url}, checkout=checkout
    )
    assert code == 0, said
    return said


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout
