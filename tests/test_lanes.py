"""Each test process has a lane of its own, and a file that a lane begins with is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import lanes
from tests.lanes import LONG


def test_another_process_gets_another_lane() -> None:
    theirs = subprocess.run(
        [sys.executable, "-c", "from tests import lanes; print(lanes.NUMBER)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(theirs.stdout) != lanes.NUMBER


def test_the_database_of_a_lane_is_its_own_and_has_every_migration(db: None) -> None:
    assert connection.settings_dict["NAME"] == lanes.DATABASE
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


def test_a_file_that_is_begun_first_is_there() -> None:
    gone = [file for file in LONG if not (Path(__file__).parent / file).is_file()]
    assert gone == [], "they have moved: say where to, in lanes.py"
