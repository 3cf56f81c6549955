"""F12–F14: doorbells that ring twice, early, with another answer, or whose callback is lost."""

from __future__ import annotations

import json
from uuid import uuid4

import redis
from django.conf import settings

from campaigns import tasks
from tests.chaos.fault import fault
from tests.chaos.scene import Scene

SLOW = {"CHAOS_PLANTED": "short visibility", "CONNECTIONS": "5"}  # a chunk takes 10 s


@fault("F12", "tasks outlive the visibility timeout", different={"bulk": SLOW, "bulk.2": SLOW})
def redelivered_while_running(scene: Scene) -> None:
    """The start-up check is evaded; a second worker is free for whatever Redis hands out again."""
    scene.start("bulk.2")
    before = _tasks_done(scene)
    scene.launch()
    scene.finish()
    tasks_done, chunks = _tasks_done(scene) - before, scene.run.chunks.count()
    assert tasks_done > chunks, f"{tasks_done} tasks for {chunks} chunks: nothing came twice"


def _tasks_done(scene: Scene) -> int:
    names = ("bulk", "bulk.2")
    return sum(scene.worker(name).said("] succeeded in") for name in names)


@fault("F13", "every task comes twice, the second answers else", people=5_000, workers=("control",))
def redelivered(scene: Scene) -> None:
    """The same message, task id and chord: a copy of each waits behind the queue."""
    scene.launch()
    broker = redis.Redis.from_url(settings.BROKER_URL)
    scene.wait("the wave is rung", lambda: _copy_all(broker) >= 5)
    scene.start("bulk")
    scene.start("beat")
    scene.finish()


def _copy_all(broker: redis.Redis) -> int:
    """Behind, not beside: the first of each is done when its copy comes."""
    copied = 0
    for key in broker.scan_iter("bulk*", _type="list"):
        for message in broker.lrange(key, 0, -1):
            copy = json.loads(message)
            copy["properties"]["delivery_tag"] = str(uuid4())
            broker.lpush(key, json.dumps(copy))
            copied += 1
    return copied


@fault("F14", "the chord's callback is lost", people=5_000, within=10, quick=True)
def callback_lost(scene: Scene) -> None:
    """Its keys are gone from Redis; the sweep finishes by the rows."""
    scene.launch()
    scene.until(0.3)
    results = redis.Redis.from_url(settings.RESULTS_URL)
    keys = list(results.scan_iter("*taskset*"))
    assert keys, "there is no chord to lose"
    results.delete(*keys)
    scene.healed()
    scene.finish()
    assert not scene.run.waves.filter(called_back_at__isnull=False).exists(), "it called back"


@fault("F14e", "the chord's callback comes early, thrice", people=5_000)
def callback_early(scene: Scene) -> None:
    """Completion is a count of rows, never a callback."""
    scene.launch()
    scene.until(0.2)
    for _ in range(3):
        tasks.wave_done.delay(results=[{"accepted": 1}], run_id=scene.run.pk, wave=1)
    scene.finish()
