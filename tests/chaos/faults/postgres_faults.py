"""F26–F28, F31, F32: PostgreSQL restarts, only reads, is full, has no room, is out of reach."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.conf import settings
from django.db import connection
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.chunk import IN_FLIGHT, WINDOW
from notifications.postgres.outage import PATIENCE_SECONDS
from tests.chaos.door import Answer
from tests.chaos.fault import fault
from tests.chaos.owner import address, alter, reset
from tests.chaos.scene import Scene, query
from tests.chaos.small_disk import small_disk
from tests.chaos.stage import POOL
from tests.given.builders import make_campaign
from tests.servers.relay import Relay

WHAT_WAS_OUT = POOL * WINDOW * IN_FLIGHT  # of one worker
LEASE = 6


def arrived(scene: Scene) -> int:
    """How many messages FCM has taken so far."""
    return int(scene.stage.fcm.counts()["accepted"])


LONG = {"LEASE_SECONDS": "30"}  # as in production: longer than a restart takes


@fault(
    "F26",
    "PostgreSQL restarted (immediate), twice",
    people=8_000,
    different={"bulk": LONG, "control": LONG},
    within=10,
)
def restarted(scene: Scene) -> None:
    """Answers in hand wait for it; nobody has to be sent to again."""
    scene.launch()
    for share in (0.2, 0.5):
        scene.until(share)
        restart_postgres(scene)
        scene.healed()
    scene.finish()


GIVEN_UP = PATIENCE_SECONDS + 3


@fault(
    "F26l", "PostgreSQL away until nobody waits for it", people=6_000, twice=WHAT_WAS_OUT, within=10
)
def away(scene: Scene) -> None:
    """The answers in hand are lost, the leases lapse: whoever was out may get it twice."""
    scene.launch()
    scene.until(0.2)
    restart_postgres(scene, away_seconds=GIVEN_UP)
    scene.healed()
    scene.finish()


def restart_postgres(scene: Scene, *, away_seconds: float = 0) -> None:
    """As `pg_ctl -m immediate restart` does: every backend dies at once, recovery at the start."""
    scene.stage.postgres.leave(signal.SIGQUIT)
    time.sleep(away_seconds)
    scene.stage.postgres.start()
    connection.close()  # ours died with the others
    scene.back_at = timezone.now()


@fault("F27", "PostgreSQL takes no writes for 8 s", people=6_000, within=10)
def read_only(scene: Scene) -> None:
    """As after a failover to a standby: what cannot be recorded is not sent."""
    door = scene.door()
    other = make_campaign(scene.project)
    scene.launch()
    scene.until(0.2)
    alter("default_transaction_read_only = on")
    try:
        time.sleep(1)  # until everybody has heard of it
        before = arrived(scene)
        answers = [door.launch(other), door.page("/admin/campaigns/run/")]
        time.sleep(7)
        after = arrived(scene)
    finally:
        reset("default_transaction_read_only")
    scene.healed()
    assert after - before <= WHAT_WAS_OUT, f"{after - before} sent that could not be recorded"
    assert answers[0].status == 503, f"the launch was answered {answers[0].status}"
    assert answers[1].status in (200, 503), f"the page was answered {answers[1].status}"
    scene.finish()


@fault("F27l", "no writes for longer than a lease", people=6_000, within=10)
def read_only_for_long(scene: Scene) -> None:
    """All leases have ended when it is back, and somebody looks before their workers can say so."""
    run = scene.launch()
    scene.until(0.2)
    alter("default_transaction_read_only = on")
    try:
        time.sleep(settings.LEASE_SECONDS + 3)
    finally:
        reset("default_transaction_read_only")
    tasks.advance.delay(run_id=run.pk)
    scene.healed()
    scene.finish()


@fault("F28", "the disk is full for 8 s, then room again", people=6_000, within=10)
def disk_full(scene: Scene) -> None:
    """Windows and deliveries lie on a small disk; the kernel says there that nothing is left."""
    with small_disk(scene) as disk:
        scene.launch()
        scene.until(0.2)
        disk.fill()
        time.sleep(1)
        before = arrived(scene)
        time.sleep(7)
        after = arrived(scene)
        disk.make_room()
        scene.healed()
        assert after - before <= WHAT_WAS_OUT, f"{after - before} sent that could not be recorded"
        assert scene.stage.postgres.said("No space left on device"), "it was never full"
        scene.finish()


@fault("F31", "no connection is left for 10 s", people=6_000, twice=WHAT_WAS_OUT, within=10)
def exhausted(scene: Scene) -> None:
    """Web says 503 and means it; workers come back by themselves."""
    door = scene.door()
    other = make_campaign(scene.project)
    door.page("/admin/campaigns/run/")  # the first builds templates
    scene.launch()
    scene.until(0.2)
    answers: list[Answer] = []
    with _every_connection():
        ends = time.monotonic() + 10
        while time.monotonic() < ends:
            answers += [door.launch(other), door.page("/admin/campaigns/run/")]
            answers.append(door.page("/readyz"))
            time.sleep(0.3)
    scene.healed()
    said = sorted({answer.status for answer in answers})
    assert said == [503], f"the web answered {said}, not 503 alone"
    assert door.launch(other).status == 202, "a launch is not taken afterwards"
    scene.finish()


@contextmanager
def _every_connection() -> Iterator[None]:
    """Held by us; whoever had one loses it."""
    held: list[psycopg.Connection] = []
    connection.close()
    try:
        _hoard(held)
        held[0].execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND NOT pid = ANY(%s)",
            [[each.info.backend_pid for each in held]],
        )
        for _ in range(20):  # whoever is quicker than we are loses his again at the next round
            _hoard(held)
            time.sleep(0.02)
        yield
    finally:
        for each in held:
            each.close()


def _hoard(held: list[psycopg.Connection]) -> None:
    while True:
        try:
            held.append(psycopg.connect(address(), autocommit=True))
        except psycopg.OperationalError:
            return


@fault(
    "F32",
    "worker cut off from PostgreSQL",
    people=6_000,
    workers=("control", "beat"),
    different={name: {"LEASE_SECONDS": str(LEASE)} for name in ("bulk", "bulk.2", "control")},
    within=15,
)
def cut_off(scene: Scene) -> None:
    """It starts nothing once its lease is over; the other finishes, the zombie writes nothing."""
    server = urlsplit(address())
    relay = Relay(server.port or 0)
    place = f"{server.netloc.rpartition(':')[0]}:{relay.port}"
    through = urlunsplit(server._replace(netloc=place))
    planted = scene.fault.different.get("bulk.2", {})
    scene.stage.start_worker("bulk.2", {**planted, "DATABASE_URL": through})
    try:
        scene.launch()
        scene.until(0.2)
        scene.stage.fcm.change(latency_ms=1_000)  # so that a window outlasts the lease
        time.sleep(2)
        relay.cut()
        (ends,) = query(LEASES_END, scene.run.pk)[0]
        scene.killed += POOL
        time.sleep(LEASE + 4)
        late = _arrived_after(scene, ends + timedelta(seconds=1.5))
        assert not late, f"{late} requests left after the lease had ended"
        scene.stage.fcm.change(latency_ms=50)
        scene.start("bulk")
        scene.healed()
        # Not to the end: cut off in the middle of a write, it still holds its chunk's row, and the
        # relay does not vanish as a host does.
        scene.until(0.45)
        relay.mend()
        scene.finish()
        time.sleep(2)  # whatever it still wanted to write, it would have by now
    finally:
        relay.stop()
        scene.stage.end_worker("bulk.2")


LEASES_END = "SELECT max(lease_until) FROM campaigns_chunk WHERE run_id = %s"


def _arrived_after(scene: Scene, moment: datetime) -> int:
    """FCM writes a message down when it answers, here a second after it came."""
    scene.stage.fcm.witness()
    records = scene.stage.fcm.everything_witnessed()
    mine = (record for record in records if str(record["id"]).startswith(f"{scene.run.pk}:"))
    return sum(datetime.fromtimestamp(record["at"], UTC) > moment for record in mine)
