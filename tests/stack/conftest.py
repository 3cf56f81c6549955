"""The launcher through its own door: its command line, a state folder, a bare environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.stack import CHECKOUT
from config.stack.supervision.leftovers import end_leftovers

Launch = Callable[..., subprocess.CompletedProcess[str]]
INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")


def bare_environment(**extra: str) -> dict[str, str]:
    """Without the addresses of the servers that the tests themselves run on."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ} | extra


def launcher(state: Path, action: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "config.stack", action, "--state", str(state), *arguments]


@contextmanager
def state_folder() -> Iterator[Path]:
    """A state folder that the servers' account can enter (pytest's own folders are closed)."""
    folder = Path(tempfile.mkdtemp(prefix="carillon-stack-")).resolve()
    folder.chmod(0o755)
    yield folder
    end_leftovers(folder)
    shutil.rmtree(folder)


@pytest.fixture
def state() -> Iterator[Path]:
    with state_folder() as folder:
        yield folder


@pytest.fixture
def exec_beside(state: Path) -> Launch:
    def run(*command: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            launcher(state, "exec", "--", *command),
            cwd=CHECKOUT,
            env=bare_environment(**environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
