"""F20–F25: Redis restarts, forgets, fills up, would evict, hangs, is not there."""

from __future__ import annotations

import signal
import time

import redis
from django.conf import settings

from campaigns.runs.run import Run
from tests.chaos.door import Answer
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign
from tests.given.forgetting import flush_all
from tests.given.waiting import eventually

PROMPT = 1.0  # seconds a page may take while Redis hangs
PAGES = ("/admin/", "/admin/campaigns/run/", "/admin/campaigns/campaign/", "/healthz")


@fault("F20", "Redis restarted five times", people=10_000, within=10)
def restarted(scene: Scene) -> None:
    """Twice politely, three times as a power cut; the workers stay."""
    scene.launch()
    valkey = scene.stage.valkey
    for number in range(5):
        scene.until(0.1 + 0.15 * number)
        valkey.leave() if number % 2 else valkey.kill()
        valkey.start()
        if not number:
            scene.healed()
    scene.finish()


@fault("F21", "FLUSHALL at half", people=5_000, within=30, quick=True)
def flushed(scene: Scene) -> None:
    scene.launch()
    scene.until(0.5)
    flush_all()
    scene.healed()
    scene.finish()


@fault("F22", "Redis full (noeviction), then room again", people=5_000, within=10)
def full(scene: Scene) -> None:
    """A launch is recorded, a run that goes on finds no room either; both end. No worker leaves."""
    door = scene.door()
    second = make_campaign(scene.project)
    scene.launch()
    scene.until(0.2)
    broker = redis.Redis.from_url(settings.BROKER_URL)
    broker.config_set("maxmemory", "1")
    answer = door.launch(second)
    time.sleep(8)
    broker.config_set("maxmemory", "0")
    scene.healed()
    assert answer.status == 202, f"the launch was answered {answer.status}: {answer.body[:200]}"
    scene.finish()
    assert not scene.kills, f"{scene.kills} processes of workers ended"
    _ends_too(second.pk)


@fault("F23", "Redis that evicts: workers refuse to start", people=0, ends="")
def evicting(scene: Scene) -> None:
    broker = redis.Redis.from_url(settings.BROKER_URL)
    broker.config_set("maxmemory-policy", "allkeys-lru")
    try:
        for name in ("bulk", "beat"):
            scene.stage.end_worker(name)
            refused = scene.stage.prepare_worker(name, scene.fault.different.get(name))
            refused.start_only()
            code = refused.wait(30)
            assert code, f"{name} started although Redis evicts"
            assert refused.said("Redis evicts keys (allkeys-lru)"), f"{name} did not say why"
    finally:
        broker.config_set("maxmemory-policy", "noeviction")


@fault("F24", "Redis hangs for 30 s (SIGSTOP)", people=8_000, within=10)
def hanging(scene: Scene) -> None:
    """Pages stay prompt, a launch is recorded, and everything goes on afterwards."""
    door = scene.door()
    second = make_campaign(scene.project)
    for path in PAGES:
        door.page(path)  # the first of each builds templates
    scene.launch()
    scene.until(0.2)
    valkey = scene.stage.valkey
    valkey.freeze()
    answers: list[tuple[str, Answer]] = []
    thaw_at = time.monotonic() + 30
    try:
        launched = door.launch(second)
        while time.monotonic() < thaw_at:
            answers += [(path, door.page(path)) for path in PAGES]
            time.sleep(0.5)
    finally:
        valkey.thaw()
    scene.healed()
    assert launched.status == 202, f"the launch was answered {launched.status}"
    assert launched.seconds < 10, f"the launch took {launched.seconds:.0f} s"
    refused = [(path, answer.status) for path, answer in answers if answer.status != 200]
    assert not refused, f"not served: {refused[:3]}"
    slow = sorted((answer.seconds, path) for path, answer in answers)[int(0.95 * len(answers))]
    assert slow[0] <= PROMPT, f"p95 of the pages is {slow[0]:.1f} s ({slow[1]})"
    scene.finish()
    _ends_too(second.pk)


@fault("F25", "Redis away at the launch", people=3_000, within=10)
def away_at_launch(scene: Scene) -> None:
    """The click is recorded, its answer prompt; the run starts once Redis is back."""
    door = scene.door()
    campaign = make_campaign(scene.project)
    scene.stage.valkey.leave(signal.SIGTERM)
    try:
        answer = door.launch(campaign)
        again = door.launch(campaign)
    finally:
        scene.stage.valkey.start()
    scene.healed()
    scene.adopt(Run.objects.get(campaign=campaign))  # recorded, whatever the answer said
    assert answer.status == 202, f"the launch was answered {answer.status}: {answer.body[:200]}"
    assert answer.seconds < 10, f"the launch took {answer.seconds:.0f} s"
    assert again.status == 409, f"the second launch was answered {again.status}"
    scene.finish()


def _ends_too(campaign: int) -> None:
    run = Run.objects.filter(campaign=campaign)
    eventually("the other run ends", lambda: run.filter(finished_at__isnull=False), seconds=60)
    assert run.get().waiting == 0
