"""Planted bugs: each still finds what it breaks, though `make chaos` rarely plants it."""

from __future__ import annotations

import subprocess
import sys

# Each in a process of its own, which it spoils.
PLANT_EACH = """
import os, sys, django
django.setup()
import config.celery
from tests.chaos import bugs
from tests.chaos.bug import BUGS
assert bugs.GROUPS and len(BUGS) > 100, len(BUGS)
for bug in BUGS.values():
    pid = os.fork()
    if pid:
        if os.waitpid(pid, 0)[1]:
            print(bug.name)
        continue
    try:
        bug.plant()
    except AssertionError as error:
        print(error, flush=True)
        os._exit(1)
    os._exit(0)
"""


def test_each_bug_finds_what_it_breaks() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLANT_EACH], capture_output=True, text=True
    )
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr[-3_000:]
