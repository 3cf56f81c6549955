"""Test processes side by side: each has a PostgreSQL database and nine Redis databases of its own.

Two runs may share their servers. Loaded by `-p`, ahead of Django's settings. Three lanes on two
cores: a third of their time is waiting.
"""

from __future__ import annotations

import fcntl
import gc
import os
from pathlib import Path
from typing import IO

import pytest

from config.boot.redis_address import redis_address
from tests import quick

LANES = 14
CLAIMS = Path(__file__).parents[1] / "var" / "test" / "lanes"
DATABASES = 9  # four for the tests, four for what runs apart from them, one where nobody listens
# Half a minute each and more: begun last, one of them would leave the other lanes idle.
LONG = (
    "chaos/test_quick.py",
    "browser/test_accessible.py",
    "security/front/test_slow_sockets.py",
    "upgrade/test_rolling_upgrade.py",
    "sending/test_faithful.py",
    "stack/test_run.py",
    "sending/test_long_outage.py",
    "roles/test_matrix.py",
    "browser/test_story.py",
    "redis/test_redis_tls.py",
    "audiences/pages/test_audience_browser.py",
    "stack/test_database_role.py",
    "keys/test_tokens.py",
    "pacing/test_pacing.py",
    "engine/test_chord.py",
    "engine/test_machine.py",
    "commands/test_healthy.py",
    "stack/test_stand_in.py",
    "browser/test_peoples_walk.py",
    "browser/test_hostile_names.py",
)


def _claim() -> tuple[int, IO[str]]:
    """The first lane that no process has, ours until this one ends: the kernel lets go of it."""
    CLAIMS.mkdir(parents=True, exist_ok=True)
    for number in range(LANES):
        file = (CLAIMS / str(number)).open("w")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
        else:
            return number, file
    raise pytest.UsageError(f"{LANES} test processes are running already. Wait for one to end.")


_took: dict[str, float] = {}
NUMBER, _claimed = _claim()
DATABASE = f"test_{NUMBER}"
_given = os.environ["REDIS_URL"]
os.environ["REDIS_URL"] = redis_address(_given, database=DATABASES * NUMBER)
if "PYTEST_XDIST_WORKER" in os.environ:
    gc.disable()  # hardly anything of what is read until the first test becomes garbage


def pytest_configure(config: pytest.Config) -> None:
    """Who only hands out tests to others needs no lane, and its children inherit none."""
    if config.getoption("numprocesses", None):
        _claimed.close()
        os.environ["REDIS_URL"] = _given


@pytest.hookimpl(trylast=True)  # after they were shuffled
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long files first, the longest of them ahead; then those that share a browser."""
    if listed := os.environ.get(quick.LEFT_OUT):
        names = set(Path(listed).read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in names])
        items[:] = [item for item in items if item.nodeid not in names]
    turns = {Path(__file__).parent / file: turn for turn, file in enumerate(LONG)}
    driven = {item.path for item in items if "browser" in getattr(item, "fixturenames", ())}

    def turn(item: pytest.Item) -> tuple[int, int]:
        group = 1 if item.path in driven else 0 if item.path in turns else 2
        return group, turns.get(item.path, len(LONG))

    items.sort(key=turn)


def pytest_collection_finish() -> None:
    """What 5,000 tests are made of stays to the end: looking for garbage there costs a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _took[report.nodeid] = _took.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """What each test took now and the time before, for who has to choose some of them."""
    if "PYTEST_XDIST_WORKER" not in os.environ and _took:
        quick.remember(_took)
