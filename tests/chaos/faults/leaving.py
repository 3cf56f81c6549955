"""F10–F11: workers that leave politely, and workers that come back from the dead."""

from __future__ import annotations

import signal
import time
from datetime import datetime

from django.utils import timezone

from tests.chaos.evidence import Evidence, gather
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.chaos.stage import CONNECTIONS, POOL

LEASE = 6
LONGEST_EXIT = 30.0


@fault("F10", "deploy (SIGTERM), three times", people=8_000, within=15, quick=True)
def deployed(scene: Scene) -> None:
    """Claims stop, windows settle, it leaves within 30 s, and nobody is in doubt."""
    scene.launch()
    for share in (0.1, 0.35, 0.6):
        scene.until(share)
        took = scene.stage.workers.pop("bulk").leave(signal.SIGTERM, seconds=2 * LONGEST_EXIT)
        assert took <= LONGEST_EXIT, f"it took {took:.0f} s to leave"
        scene.start("bulk")
    scene.healed()
    scene.finish()
    assert not scene.kills, f"{scene.kills} children were killed by a polite request"


@fault(
    "F11",
    "zombie: frozen for 3 leases, then goes on",
    people=6_000,
    different={name: {"LEASE_SECONDS": str(LEASE)} for name in ("bulk", "bulk.2", "control")},
    within=15,
)
def zombie(scene: Scene) -> None:
    """Another worker takes over. The zombie starts no request and writes nothing."""
    scene.launch()
    scene.until(0.2)
    frozen = scene.worker("bulk")
    frozen.freeze()
    scene.killed += len(frozen.children())  # as good as dead: what they had in flight is in doubt
    scene.start("bulk.2")
    time.sleep(3 * LEASE)
    thawed_at = timezone.now()
    frozen.thaw()
    scene.finish()
    time.sleep(2)  # whatever it still wanted to write or to send, it would have by now
    late = _started_after(thawed_at, gather(scene))
    # One for each socket may have been frozen between its permit and its first byte.
    allowed = POOL * int(CONNECTIONS)
    assert late <= allowed, f"the zombie started {late} requests after its lease"


def _started_after(moment: datetime, evidence: Evidence) -> int:
    """Arrived after it, though the last window that named them was settled before it."""
    last = {seq: window for window in evidence.windows for seq in window.seqs}
    return sum(
        1
        for seq, times in evidence.received.items()
        if max(times) > moment and (last[seq].settled_at or moment) < moment
    )
