"""F34–F46: what FCM and OAuth do wrong while several real workers send.

What a single answer means is pinned in tests/fcm/test_contract.py, whole runs over every state of
address in tests/sending/test_faithful.py; here is only what needs several processes and time.
"""

from __future__ import annotations

import time
from typing import Any

from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query
from tests.chaos.stage import CONNECTIONS, POOL

TWO_WORKERS = {"workers": ("bulk", "bulk.2", "control", "beat")}
AT_THE_DOOR = 2 * POOL * int(CONNECTIONS)  # requests that two workers can have out at once


def _answers(scene: Scene, name: str) -> int:
    return int(scene.stage.fcm.counts()["by_answer"].get(name, 0))


@fault("F34", "FCM revokes every token", people=6_000, **TWO_WORKERS)
def revoked(scene: Scene) -> None:
    """One refresh for all workers, and nobody is refused for it."""
    scene.launch()
    scene.until(0.2)
    scene.stage.fcm.revoke()
    scene.finish()
    asked = scene.stage.fcm.counts()["token_requests"]
    assert _answers(scene, "ACCESS_TOKEN_EXPIRED"), "nobody had an old token"
    assert asked <= 2, f"{asked} tokens were asked for"
    assert scene.run.accepted == scene.run.planned, f"{scene.run.rejected} were refused"


def _quota_is_spent(scene: Scene, seconds: int, **header: Any) -> None:
    scene.launch()
    scene.until(0.2)
    scene.stage.fcm.script("answer", answer="quota", **header, **{"for": seconds})
    time.sleep(seconds)
    early = _answers(scene, "RATE_LIMIT_EXCEEDED")
    scene.finish()
    assert early, "nobody was refused"
    assert early <= 2 * AT_THE_DOOR, f"{early} requests before FCM wanted any"
    assert scene.run.accepted == scene.run.planned, f"{scene.run.rejected} were refused"


@fault("F37", "429 with Retry-After, two workers", people=6_000, within=10, **TWO_WORKERS)
def told_to_wait(scene: Scene) -> None:
    """All of them wait as long as one was told."""
    _quota_is_spent(scene, 8, retry_after=8)
    scene.healed()


@fault("F37n", "429 that names no time", people=4_000, patience=120, **TWO_WORKERS)
def told_nothing(scene: Scene) -> None:
    """Then a minute is waited, as Google advises."""
    _quota_is_spent(scene, 20)


THRICE = 100  # of 5,000: 0.2 × 0.2 × 0.2 is 40


@fault("F38", "500 for one request in five", people=5_000, twice=THRICE, **TWO_WORKERS)
def failing(scene: Scene) -> None:
    """Tried again with patience, not at once; after three failures it is unknown."""
    scene.stage.fcm.script("answer", answer="internal", share=20, **{"for": 40})
    scene.launch()
    scene.finish()
    planned, requests = scene.run.planned or 1, scene.stage.fcm.counts()["requests"]
    assert requests <= 1.3 * planned, f"{requests} requests for {planned} people"
    assert not scene.run.rejected, f"{scene.run.rejected} were refused"
    (soonest,) = query(SOONEST, scene.run.pk)[0]
    assert soonest >= AT_THE_SOONEST, f"somebody was tried again after {soonest:.1f} s"


AT_THE_SOONEST = 9.5  # Google asks for 10 s; a window is opened a little before its requests leave
SOONEST = """
SELECT min(extract(epoch FROM gap)) FROM (
    SELECT opened_at - lag(opened_at) OVER (PARTITION BY seq ORDER BY opened_at) AS gap
    FROM (SELECT unnest(seqs) AS seq, opened_at FROM campaigns_window WHERE run_id = %s) AS opened
) AS gaps
"""

LIED = 0.01


@fault("F39", "503 although delivered, one in 100", people=6_000, twice=round(3 * LIED * 6_000))
def lied(scene: Scene) -> None:
    """Whoever may have got it twice is marked."""
    scene.stage.fcm.script("answer", answer="unavailable", accepted=True, share=100 * LIED)
    scene.launch()
    scene.until(0.9)
    scene.finish()


@fault("F40", "FCM hangs for 10 s", people=5_000, within=20)
def hanging(scene: Scene) -> None:
    """No more wait than there are connections; they are given up after 15 s and tried again."""
    scene.launch()
    scene.until(0.2)
    scene.stage.fcm.script("hang", seconds=60, **{"for": 10})
    time.sleep(10)
    waiting = scene.stage.fcm.counts()["in_flight"]
    scene.healed()
    assert waiting <= POOL * int(CONNECTIONS), f"{waiting} requests wait"
    scene.finish()
    assert scene.run.accepted == scene.run.planned


RESETS = 0.05
MENDED = 8  # seconds: before anybody is tried again, for a second loss is unknown


@fault("F42", "resets, half of them after delivery", people=5_000, twice=round(2 * RESETS * 5_000))
def resets(scene: Scene) -> None:
    for accepted in (True, False):
        half = 100 * RESETS / 2
        scene.stage.fcm.script("reset", share=half, accepted=accepted, **{"for": MENDED})
    scene.launch()
    scene.finish()
    assert scene.run.accepted == scene.run.planned


@fault("F42h", "the same, never to send twice", people=5_000, on_unknown="hold", twice=500)
def resets_held(scene: Scene) -> None:
    for accepted in (True, False):
        half = 100 * RESETS / 2
        scene.stage.fcm.script("reset", share=half, accepted=accepted, **{"for": 15})
    scene.launch()
    scene.finish()
    assert scene.run.unknown, "nobody's answer was lost"


@fault("F46", "OAuth is down for 12 s, tokens gone", people=5_000, within=25, **TWO_WORKERS)
def no_tokens(scene: Scene) -> None:
    """Nobody is refused for it, and OAuth is not stormed."""
    scene.launch()
    scene.until(0.2)
    before = scene.stage.fcm.counts()["token_requests"]
    scene.stage.fcm.script("answer", answer="unavailable", door="token", **{"for": 12})
    scene.stage.fcm.revoke()
    time.sleep(12)
    asked = scene.stage.fcm.counts()["token_requests"] - before
    scene.healed()
    assert 0 < asked <= 6, f"OAuth was asked {asked} times while it was down"
    scene.finish()
    assert scene.run.accepted == scene.run.planned, f"{scene.run.rejected} were refused"


BROKEN = (408, 500, 502, 504)


def _lies(scene: Scene, *, share: float) -> None:
    """FCM takes the messages, and answers as if it had failed, or not at all."""
    for status in BROKEN:
        answer = {"status": status, "body": "<html>Error</html>"}
        scene.stage.fcm.script("answer", answer=answer, accepted=True, share=share / 5)
    scene.stage.fcm.script("drop", accepted=True, share=share / 5)


@fault("F66", "FCM accepts and says 408, 500, 502, 504 or nothing", people=5_000, twice=700)
def lies(scene: Scene) -> None:
    """One in ten. Everybody who may have got more than one is marked, and nobody gets four."""
    _lies(scene, share=10)
    scene.launch()
    scene.finish()
    assert not scene.run.rejected, f"{scene.run.rejected} were refused"
    assert scene.run.unknown, "nobody was failed three times"


@fault("F66h", "the same, never to send twice", people=5_000, on_unknown="hold", twice=700)
def lies_held(scene: Scene) -> None:
    """One request each, whatever was answered."""
    _lies(scene, share=10)
    scene.launch()
    scene.finish()
    assert scene.run.unknown, "nobody's answer was lost"
