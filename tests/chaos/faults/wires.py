"""F41, F43–F45, F67: FCM is slow or cut short, is somebody else, or cannot be found or reached."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.sending.sending import TRIAL
from tests.chaos.fault import fault
from tests.chaos.faults.refusals import attempts
from tests.chaos.scene import Scene
from tests.chaos.stage import CONNECTIONS, POOL
from tests.servers.relay import Relay

MANY = 150  # connections of each process, for an answer takes two seconds
GROWTH = 50e6
PAGE = os.sysconf("SC_PAGE_SIZE")


@fault(
    "F41",
    "FCM takes 2 s for each answer",
    people=3_000,
    different={"bulk": {"CONNECTIONS": f"{MANY}"}},
)
def slow(scene: Scene) -> None:
    """It finishes, with no more in flight than there are connections, and no memory for it."""
    scene.stage.fcm.change(latency_ms=2_000)
    scene.launch()
    scene.until(0.1, seconds=90)
    sizes = [_memory(scene)]

    def nearly_done() -> bool:
        sizes.append(_memory(scene))
        return scene.share() > 0.9

    scene.wait("nine tenths are settled", nearly_done, seconds=90)
    scene.finish()
    peak, grown = scene.stage.fcm.counts()["peak_in_flight"], max(sizes) - sizes[0]
    assert peak <= POOL * MANY, f"{peak} requests were in flight"
    assert grown < GROWTH, f"a worker grew by {grown / 1e6:.0f} MB"


def _memory(scene: Scene) -> int:
    """Bytes resident in the largest of the pool."""
    pool = scene.worker("bulk").children()
    return max(PAGE * int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pool)


@fault("F43", "200 with a body cut short or unreadable", people=5_000)
def cut_short(scene: Scene) -> None:
    """It was a 200: only the message's name is lost, and nobody is sent to again."""
    for kind in ("cut_body", "truncated", "empty"):
        scene.stage.fcm.script(kind, share=3)
    run = scene.launch()
    scene.finish()
    nameless = Delivery.objects.filter(run_id=run.pk, message_id="").count()
    assert nameless, "no body was cut short"
    assert run.accepted == run.planned, f"{run.accepted} of {run.planned} are accepted"
    assert attempts(scene) == run.planned, f"{attempts(scene)} requests"


@fault("F44", "somebody else's certificate", people=2_000, workers=("control", "beat"), within=20)
def not_fcm(scene: Scene) -> None:
    """Whoever answers there cannot prove to be FCM: no request leaves, until the way is mended."""
    # The emulator's certificate is for 127.0.0.1; the token's endpoint stays as it is.
    relay = Relay(int(scene.stage.fcm.url.rpartition(":")[2]), at=("127.0.0.2", 0))
    try:
        with _sent_to(scene, f"https://127.0.0.2:{relay.port}"):
            assert relay.connections, "nobody tried"
    finally:
        relay.stop()


@fault("F45", "FCM's name is not found", people=2_000, workers=("control", "beat"), within=20)
def no_name(scene: Scene) -> None:
    with _sent_to(scene, "https://fcm.invalid"):
        pass


OUTAGE = 25  # seconds: FCM is tried after 10, and 20 later
NOTICED = timedelta(seconds=5)


@fault(
    "F67",
    "no network for 25 s",
    people=5_000,
    workers=("beat",),
    twice=POOL * int(CONNECTIONS),  # whose answers were on their way
    within=25,
    patience=90,
)
def no_network(scene: Scene) -> None:
    """Nobody pays for it: one message at a time tries, and the run goes on when one arrives."""
    fcm = int(scene.stage.fcm.url.rpartition(":")[2])
    wire = Relay(fcm)
    through = {"FCM_ENDPOINT": f"https://127.0.0.1:{wire.port}"}
    for name in ("bulk", "control"):
        scene.stage.start_worker(name, {**scene.fault.different.get(name, {}), **through})
    run = scene.launch()
    scene.until(0.2)
    wire.stop()
    cut_at = timezone.now()
    time.sleep(OUTAGE)
    tried = [len(w.seqs) for w in Window.objects.filter(run=run, opened_at__gt=cut_at + NOTICED)]
    run.refresh_from_db()
    wire = Relay(fcm, at=("127.0.0.1", wire.port))
    scene.healed()
    assert run.state == "sending", f"it is {run.state}: {run.detail}"
    assert tried and sum(tried) <= 3, f"{sum(tried)} were tried while nothing could leave"
    scene.finish()
    wire.stop()
    assert run.accepted == run.planned, f"{run.rejected} were refused"


@contextmanager
def _sent_to(scene: Scene, endpoint: str) -> Iterator[None]:
    """A worker that cannot reach FCM: what surely never left is waiting, not in doubt."""
    given = scene.fault.different.get("bulk", {})
    scene.stage.start_worker("bulk", {**given, "FCM_ENDPOINT": endpoint})
    run = scene.launch()
    unreachable = Retry.objects.filter(run=run, reason="unreachable")
    scene.wait("a window is tried", lambda: unreachable.count() >= TRIAL or attempts(scene))
    assert not attempts(scene), f"{attempts(scene)} requests left"
    in_doubt = Retry.objects.filter(run=run, ambiguous=True).count()
    assert not in_doubt, f"{in_doubt} are in doubt, though no request left"
    assert not Delivery.objects.filter(run_id=run.pk).exists(), "somebody paid for it"
    assert Window.objects.filter(run=run).exists()
    yield
    scene.stage.workers.pop("bulk").leave()
    scene.stage.start_worker("bulk", given)
    scene.healed()
    scene.finish()
    assert run.accepted == run.planned, f"{run.rejected} were refused"
