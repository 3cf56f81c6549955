"""F29, F30, F33: somebody else holds the tables, transactions collide, a session sleeps in one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings

from campaigns import tasks
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import fault
from tests.chaos.faults.postgres_faults import WHAT_WAS_OUT, arrived
from tests.chaos.owner import address, order
from tests.chaos.scene import Scene, query


@fault("F29", "tables locked by somebody else for 6 s", people=6_000, within=10)
def tables_locked(scene: Scene) -> None:
    scene.launch()
    scene.until(0.2)
    with psycopg.connect(address()) as db:
        db.execute("LOCK TABLE campaigns_chunk, campaigns_run IN ACCESS EXCLUSIVE MODE")
        before = arrived(scene)
        time.sleep(6)
        after = arrived(scene)
    scene.healed()
    assert after - before <= WHAT_WAS_OUT, f"{after - before} sent that could not be recorded"
    scene.finish()


@fault("F29d", "deadlocks: rows locked in the other order", people=6_000, within=10)
def deadlocks(scene: Scene) -> None:
    """Chunks from the last to the first and the run at the end, again and again."""
    scene.launch()
    scene.until(0.1)
    with _meanwhile(lambda: _lock_backwards(scene.run.pk)):
        scene.wait("most is sent", lambda: _rung_to(scene, 0.7), seconds=60)
    scene.healed()
    scene.finish()


def _rung_to(scene: Scene, share: float) -> bool:
    """A step of the run locks it first, then its chunks: the other way round."""
    enqueue_on_commit(tasks.advance, run_id=scene.run.pk)
    time.sleep(0.3)
    return scene.share() >= share


def _lock_backwards(run: int) -> None:
    with psycopg.connect(address()) as db:
        db.execute("SET lock_timeout = '5s'")
        db.execute(
            "SELECT FROM campaigns_chunk WHERE run_id = %s ORDER BY number DESC FOR UPDATE", [run]
        )
        time.sleep(0.3)
        db.execute("SELECT FROM campaigns_run WHERE id = %s FOR UPDATE", [run])
    time.sleep(0.2)


@contextmanager
def _meanwhile(deed: Callable[[], None]) -> Iterator[None]:
    """Do it over and over; whatever PostgreSQL says to it is its own affair."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            try:
                deed()
            except psycopg.Error:
                time.sleep(0.1)

    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)


COLLIDE = """
CREATE FUNCTION chaos_collision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < {share} THEN
        RAISE EXCEPTION 'chaos: could not serialize access' USING ERRCODE = '40001';
    END IF;
    RETURN NULL;
END $$
"""


@fault("F30", "one write in 5 fails to serialize (40001)", people=6_000, within=10)
def collisions(scene: Scene) -> None:
    """Whole transactions are tried again, never the requests between them."""
    scene.launch(rung=False)  # a person would see a 503 and click again; that is another fault
    with _collisions(0.2):
        enqueue_on_commit(tasks.advance, run_id=scene.run.pk)
        scene.finish()


@contextmanager
def _collisions(share: float) -> Iterator[None]:
    """Every writing statement to chunks, windows and the run throws the dice."""
    tables = ("chunk", "window", "run")
    order(
        COLLIDE.format(share=share),
        *(
            f"CREATE TRIGGER chaos AFTER INSERT OR UPDATE ON campaigns_{table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION chaos_collision()"
            for table in tables
        ),
    )
    try:
        yield
    finally:
        order("DROP FUNCTION chaos_collision CASCADE")


LOCKED = "SELECT FROM campaigns_chunk WHERE run_id = %s AND number IN (4, 5, 6) FOR UPDATE"


@fault("F33", "a session sleeps in its transaction", people=10_000, within=10)
def idle_in_transaction(scene: Scene) -> None:
    """One of ours that hangs: it has locked three chunks. The others go on as before, and after
    30 s the server ends it."""
    scene.launch()
    usual = _seconds_from(scene, 0.1, 0.6)
    scene.finish()
    scene.launch()
    scene.until(0.1)
    ours = settings.DATABASES["default"]["OPTIONS"]["options"]
    with psycopg.connect(address(), options=ours) as db:
        db.execute(LOCKED, [scene.run.pk])
        took = _seconds_from(scene, 0.1, 0.6)
        # Each costs one process half a second. The table asks for a tenth at most, but seconds
        # measured beside other work tell none; whoever waits for a lock loses fifteen of them.
        assert took < 1.5 * usual + 3, f"{took:.1f} s for what usually takes {usual:.1f} s"
        ends = "SELECT FROM pg_stat_activity WHERE pid = %s"
        pid = db.info.backend_pid
        scene.wait("the server ends it", lambda: not query(ends, pid), seconds=40)
        scene.healed()
        assert scene.share() < 1, "it held up nobody"
        scene.finish()
        db.close()


def _seconds_from(scene: Scene, share: float, to: float) -> float:
    scene.until(share)
    began = time.monotonic()
    scene.until(to)
    return time.monotonic() - began
