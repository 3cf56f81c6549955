"""F8m, F73–F78 and F82: between the 202 of a message to one person and FCM, workers and the web
die, Redis forgets, PostgreSQL restarts, a campaign is under way, and FCM refuses what one caller
writes.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.utils import timezone

from campaigns.runs.lapsing import LAPSES_ALLOWED
from campaigns.runs.messages import day
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from notifications.people.device import Device
from tests.chaos.door import Answer, Door
from tests.chaos.evidence import gather
from tests.chaos.fault import fault
from tests.chaos.faults.postgres_faults import LONG, restart_postgres
from tests.chaos.judge import INVARIANTS
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL
from tests.given.forgetting import flush_all
from tests.given.waiting import eventually

CREW = ("urgent", "control", "beat")
CALLERS = 8
KILLS = 5
PATIENCE = 90
REFUSED = 300  # a campaign would stop after a hundred without an acceptance


class Post:
    """Callers that post until they are answered, as a program with deduplication keys does."""

    def __init__(self, scene: Scene, *, times: int = 1) -> None:
        """One message to each person of the scene. `times`: so many callers bring it at once."""
        self._scene, self._times = scene, times
        self._people = [device.contact.external_id for device in scene.devices]
        self._count = len(self._people)
        self.door: Door = scene.door()
        self.ids: dict[int, set[str]] = {}
        self.wrong: list[Answer] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """They post meanwhile; afterwards each of them was answered."""
        with ThreadPoolExecutor(CALLERS) as threads:
            posting = [threads.submit(self._post) for _ in range(CALLERS)]
            yield
            for each in posting:
                each.result()
        assert not self.wrong, f"{len(self.wrong)} were answered {self.wrong[0]}"

    def until(self, share: float) -> None:
        enough = share * self._count
        patience = self._scene.fault.patience
        eventually(f"{share:.0%} posted", lambda: len(self.ids) >= enough, seconds=patience)

    def _post(self) -> None:
        while (number := self._next() // self._times) < self._count:
            self._one(number)

    def _next(self) -> int:
        with self._lock:
            return next(self._numbers)

    def _one(self, number: int) -> None:
        for _ in range(PATIENCE * 2):
            answer = self.door.api("messages", body(number, self._people[number]))
            if answer.status in (200, 202):
                with self._lock:
                    self.ids.setdefault(number, set()).add(json.loads(answer.body)["id"])
                return
            if answer.status not in (0, 429, 500, 502, 503):
                break
            time.sleep(0.5)
        self.wrong.append(answer)


def body(number: int, person: str) -> dict[str, Any]:
    return {
        "to": {"contact": person},
        "content": {"title": "Hello", "body": f"Number {number}"},
        "deduplicate": {"key": f"message-{number}"},
    }


@fault("F73", "worker of the fast lane killed, again and again", workers=CREW, patience=PATIENCE)
def killed(scene: Scene) -> None:
    post = Post(scene)
    with post.under_way():
        for number in range(1, KILLS + 1):
            post.until(number / (KILLS + 1))
            kill_while_it_takes(scene)
    finish_day(scene, post)


def kill_while_it_takes(scene: Scene) -> None:
    """A worker that has only just started would die with nothing in its hands."""
    taken = Message.objects.filter(state=Message.State.TAKEN)
    before = taken.count()
    waiting = Message.objects.filter(state=Message.State.WAITING)
    eventually("it takes messages", lambda: taken.count() > before or not waiting.exists())
    scene.worker("urgent").kill()
    scene.killed += POOL
    scene.start("urgent")


@fault("F74", "FLUSHALL between the 202 and FCM", people=600, workers=CREW, patience=PATIENCE)
def flushed(scene: Scene) -> None:
    """Nobody hears the doorbell before it is gone, and no later call rings another."""
    scene.stage.end_worker("urgent")
    post = Post(scene)
    with post.under_way():
        pass
    flush_all()
    scene.start("urgent")
    scene.healed()
    finish_day(scene, post)


@fault(
    "F82",
    "messages in a wave of FLUSHALL and kill -9 of web and worker",
    workers=CREW,
    patience=PATIENCE,
)
def wave(scene: Scene) -> None:
    post = Post(scene)
    with post.under_way():
        for number in range(1, KILLS + 1):
            post.until(number / (KILLS + 1))
            flush_all()
            kill_while_it_takes(scene)
            scene.worker("web").kill()
            scene.worker("web").start()
    finish_day(scene, post)


@fault(
    "F75",
    "PostgreSQL restarted between the 202 and FCM",
    workers=CREW,
    different={"urgent": LONG, "control": LONG},
    patience=PATIENCE,
)
def postgres_restarted(scene: Scene) -> None:
    post = Post(scene)
    with post.under_way():
        for share in (0.3, 0.6):
            post.until(share)
            restart_postgres(scene)
    finish_day(scene, post)


@fault(
    "F76",
    "web killed while callers repeat their calls",
    people=1_000,
    workers=CREW,
    patience=PATIENCE,
)
def web_killed(scene: Scene) -> None:
    """Two bring each message at once, and again until they are answered."""
    post = Post(scene, times=2)
    with post.under_way():
        for number in range(1, KILLS + 1):
            post.until(number / (KILLS + 1))
            scene.worker("web").kill()
            scene.worker("web").start()
    finish_day(scene, post)


@fault(
    "F77",
    "messages beside a campaign, their workers killed",
    workers=("bulk", *CREW),
    patience=PATIENCE,
)
def beside_a_campaign(scene: Scene) -> None:
    """Both end, each person with one row in both."""
    post = Post(scene)
    campaign = scene.launch()
    with post.under_way():
        post.until(0.3)
        kill_while_it_takes(scene)
    scene.finish()
    evidence = gather(scene)
    broken = [trouble for check in INVARIANTS for trouble in check(evidence)]
    assert not broken, f"campaign {campaign.pk}: {broken}"
    finish_day(scene, post)


@fault(
    "F78", "FCM refuses one caller's text", people=900, workers=CREW, patience=PATIENCE, within=15
)
def one_is_refused(scene: Scene) -> None:
    """All wait for a worker, and the refused come first: nobody may wait for them."""
    refused = scene.devices[:REFUSED]
    for device in refused:
        device.address = f"vague-{device.pk}:{scene.project.pk}"
    Device.objects.bulk_update(refused, ["address"])
    scene.stage.end_worker("urgent")
    post = Post(scene)
    with post.under_way():
        pass
    scene.start("urgent")
    scene.healed()
    finish_day(scene, post)
    run, said = scene.run, len(scene.devices) - REFUSED
    assert run.rejected == REFUSED, f"{run.rejected} are rejected, {REFUSED} were refused"
    assert run.accepted == said, f"{run.accepted} are accepted of the {said} others"


@fault(
    "F8m",
    "a message that kills every worker",
    people=60,
    workers=CREW,
    different={"urgent": {"CHAOS_PLANTED": "poison message", "LEASE_SECONDS": "6"}},
    per_kill=0,
    patience=240,
)
def one_kills(scene: Scene) -> None:
    """All are of one chunk. It alone is given up, and everybody else gets theirs."""
    scene.stage.end_worker("urgent")
    post = Post(scene)
    with post.under_way():
        pass
    scene.start("urgent")
    finish_day(scene, post)
    run, others = scene.run, len(scene.devices) - 1
    assert run.skipped == 1, f"{run.skipped} are skipped, 1 kills"
    assert run.accepted == others, f"{run.accepted} are accepted of the {others} others"
    assert scene.kills >= LAPSES_ALLOWED, f"only {scene.kills} died"


def finish_day(scene: Scene, post: Post) -> None:
    """Everything that was accepted is settled; the day ends as at midnight, for the judge."""
    day_of_it = Run.every.get(project=scene.project, kind=Run.Kind.MESSAGES)
    scene.adopt(day_of_it)

    def settled() -> bool:
        scene.stage.tend()
        day.close(day_of_it, timezone.now() + timedelta(days=2))
        return bool(_is_over(day_of_it))

    keys = len(scene.devices)
    twice = [number for number, ids in post.ids.items() if len(ids) > 1]
    assert not twice, f"{len(twice)} keys stand for two messages"
    named = {one for ids in post.ids.values() for one in ids}
    kept = {message.id for message in Message.objects.filter(run_id=day_of_it.pk)}
    assert kept == named, f"{len(named - kept)} of the answered are gone, {len(kept - named)} more"
    assert len(named) == keys, f"{len(named)} messages of {keys} keys"
    scene.wait("the day can end", settled, seconds=scene.fault.patience)
    planned = scene.run.planned
    assert planned == keys, f"{planned} devices are in it, {keys} were written to"


def _is_over(run: Run) -> bool:
    run.refresh_from_db()
    return run.state == Run.State.FINISHED
