"""Test processes side by side: each has nine Redis databases of its own, as it has PostgreSQL's.

Loaded by `-p`, ahead of Django's settings. Three on two cores: a third of their time is waiting.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from config.boot.redis_address import redis_address

DATABASES = 9  # four for the tests, four for what runs apart from them, one where nobody listens
# Half a minute each and more: begun last, one of them would leave the other lanes idle.
LONG = (
    "chaos/test_quick.py",
    "browser/test_accessible.py",
    "security/front/test_slow_sockets.py",
    "upgrade/test_rolling_upgrade.py",
    "sending/test_faithful.py",
    "stack/test_run.py",
    "security/pages/test_in_the_browser.py",
    "sending/test_long_outage.py",
    "roles/test_matrix.py",
    "browser/test_story.py",
    "redis/test_redis_tls.py",
    "admin/audience/test_audience_browser.py",
    "stack/test_database_role.py",
    "keys/test_tokens.py",
    "pace/test_pacing.py",
    "engine/test_chord.py",
    "engine/test_machine.py",
    "commands/test_healthy.py",
    "stack/test_stand_in.py",
    "admin/lists/test_browser.py",
    "browser/test_peoples_walk.py",
    "browser/test_hostile_names.py",
)

if lane := os.environ.get("PYTEST_XDIST_WORKER"):
    first = DATABASES * int(lane.removeprefix("gw"))
    os.environ["REDIS_URL"] = redis_address(os.environ["REDIS_URL"], database=first)
    gc.disable()  # hardly anything of what is read until the first test becomes garbage


@pytest.hookimpl(trylast=True)  # after they were shuffled
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, the longest of them ahead."""
    turns = {Path(__file__).parent / file: turn for turn, file in enumerate(LONG)}
    items.sort(key=lambda item: turns.get(item.path, len(LONG)))


def pytest_collection_finish() -> None:
    """What 5,000 tests are made of stays to the end: looking for garbage there costs a tenth."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()
