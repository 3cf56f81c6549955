"""F79: whoever keeps receipts is killed while phones report what became of a campaign."""

from __future__ import annotations

import http.client
import json
import queue
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import get_ident

from django.db.models import Count

from campaigns.engagement.receipt import EchoSum, Event, Receipt
from notifications.keys.receipt_id import receipt_id
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.waiting import eventually

PEOPLE = 20_000
EVENTS = ("received", "displayed", "opened", "dismissed", "action_1")  # of each: 100,000
SIZES = (1, 1, 1, 7, 40, 250, 500)  # of a call
AGAIN = 5  # every fifth call comes once more
PHONES = 8
TRIES = 200


class Phones:
    """They call until they are answered 200, as an app does."""

    def __init__(self, scene: Scene, run_id: int) -> None:
        self._port = scene.feed()
        self._calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.wrong: list[str] = []
        self._in_vain: set[int] = set()  # phones that met nobody
        rows = [(seq, event) for seq in range(1, PEOPLE + 1) for event in EVENTS]
        scene.stage.random.shuffle(rows)
        at = number = 0
        while at < len(rows):
            size = scene.stage.random.choice(SIZES)
            body = _call(run_id, rows[at : at + size])
            for _ in range(2 if number % AGAIN == 0 else 1):
                self._calls.put(body)
            at, number = at + size, number + 1

    @contextmanager
    def under_way(self) -> Iterator[None]:
        with ThreadPoolExecutor(PHONES) as threads:
            calling = [threads.submit(self._call_until_empty) for _ in range(PHONES)]
            yield
            for each in calling:
                each.result()
        assert not self.wrong, f"{len(self.wrong)} calls were answered {self.wrong[0]}"

    def all_meet_nobody(self) -> None:
        self._in_vain.clear()
        eventually("each phone meets nobody", lambda: len(self._in_vain) == PHONES, seconds=30)

    def _call_until_empty(self) -> None:
        while True:
            try:
                body = self._calls.get_nowait()
            except queue.Empty:
                return
            self._one(body)

    def _one(self, body: bytes) -> None:
        said = ""
        for _ in range(TRIES):
            said = self._answer(body)
            if said.startswith("200"):
                return
            time.sleep(0.1)
        self.wrong.append(said)

    def _answer(self, body: bytes) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request("POST", "/api/v1/receipts", body)
            answer = connection.getresponse()
            return f"{answer.status} {answer.read().decode()}"
        except (OSError, http.client.HTTPException) as error:
            self._in_vain.add(get_ident())
            return f"nothing: {error}"
        finally:
            connection.close()


def _call(run_id: int, rows: list[tuple[int, str]]) -> bytes:
    told = [{"id": receipt_id(f"{run_id}:{seq}"), "event": event} for seq, event in rows]
    return json.dumps({"receipts": told}).encode()


@fault(
    "F79",
    "feed killed while phones report",
    people=PEOPLE,
    patience=90,
    different={"feed": {"API_RATE_PER_ADDRESS": "0"}},  # all phones have one here
)
def consumer_killed(scene: Scene) -> None:
    """Each report is one row, and one in the sums, however often it was told."""
    run = scene.launch()
    eventually("everybody is chosen", lambda: _is_frozen(scene), seconds=90)
    phones = Phones(scene, run.pk)
    with phones.under_way():
        for share in (0.3, 0.6):
            _until_kept(run.pk, share)
            scene.worker("feed").kill()
            phones.all_meet_nobody()
            scene.worker("feed").start()
    scene.healed()
    scene.finish()
    assert _rows(run.pk) == dict.fromkeys((Event[name.upper()] for name in EVENTS), PEOPLE)
    for by in ("", "platform", "locale", "timezone", "app_version", "after"):
        assert _sums(run.pk, by) == _rows(run.pk), f"sums by {by or 'event'} are off"


def _is_frozen(scene: Scene) -> bool:
    scene.run.refresh_from_db()
    return scene.run.planned == PEOPLE and scene.run.evaluated_at is not None


def _until_kept(run_id: int, share: float) -> None:
    kept = Receipt.objects.filter(run_id=run_id)
    wanted = share * PEOPLE * len(EVENTS)
    eventually(f"{share:.0%} kept", lambda: kept.count() >= wanted, seconds=120)


def _rows(run_id: int) -> dict[int, int]:
    rows = Receipt.objects.filter(run_id=run_id).order_by().values("event")
    return dict(rows.annotate(n=Count("*")).values_list("event", "n"))


def _sums(run_id: int, by: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for row in EchoSum.objects.filter(run_id=run_id, by=by):
        found[row.event] = found.get(row.event, 0) + row.count
    return found
