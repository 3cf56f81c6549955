"""F80: the worker that tells others is killed again and again, and a receiver fails for a while."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.webhooks import outbox
from notifications.webhooks.call import Call
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Event, Outgoing
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.endpoints import make_endpoint
from tests.given.waiting import eventually
from tests.servers.receiver import Receiver, receiving

EVENTS, AT_ONCE = 5_000, 50  # of a commit
KILLS = 5


@fault(
    "F80",
    "worker of reports killed while a receiver fails",
    people=1,
    workers=("control", "beat"),
    ends="",
)
def killed(scene: Scene) -> None:
    """Two endpoints, one of them in batches: each event reaches both, by one id."""
    with receiving(Path(scene.stage.state.emulator)) as receiver:
        worker = {
            "OUTGOING_ALLOWED": "127.0.0.0/8,::1/128",
            "OUTGOING_CA_FILE": receiver.ca_file,
            **scene.fault.different.get("outgoing", {}),
        }
        make_endpoint(scene.project, f"{receiver.url}&each", kinds=[EventType.OPT_OUT])
        make_endpoint(
            scene.project,
            f"{receiver.url}&many",
            name="Many",
            kinds=[EventType.OPT_OUT],
            batched=True,
        )
        scene.stage.start_worker("outgoing", worker)
        _happen(scene)
        for number in range(1, KILLS + 1):
            receiver.status = 503 if number % 2 else 200
            _until_more_is_heard(receiver, 40)
            scene.stage.end_worker("outgoing")
            scene.stage.start_worker("outgoing", worker)
        receiver.status = 200
        scene.healed()
        eventually("all are told", _nothing_waits, seconds=300)
        scene.stage.end_worker("outgoing")
        _judge(receiver)


def _happen(scene: Scene) -> None:
    for first in range(0, EVENTS, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        now = timezone.now()
        names = [f"u{number}" for number in numbers]
        people = [Contact(project=scene.project, external_id=name) for name in names]
        Contact.objects.bulk_create(people, ignore_conflicts=True)
        events = [Event(EventType.OPT_OUT, now, {"contact": name}) for name in names]
        with transaction.atomic():
            outbox.put(scene.project.pk, events)


def _until_more_is_heard(receiver: Receiver, count: int) -> None:
    """A worker that has only just started would die with nothing in its hands."""
    before = len(receiver.heard)

    def heard() -> bool:
        few = count if receiver.status == 200 else 1  # it is tried ever more seldom
        return len(receiver.heard) >= before + few or _nothing_waits()

    eventually("it calls", heard, seconds=120)


def _nothing_waits() -> bool:
    waiting = Call.objects.filter(state=Call.State.WAITING)
    return not (Outgoing.objects.exists() or waiting.exists())


def _judge(receiver: Receiver) -> None:
    for path in ("each", "many"):
        ids: dict[str, set[str]] = defaultdict(set)
        for one in receiver.taken:
            if one.path.endswith(path):
                for event in one.events:
                    ids[event["data"]["contact"]].add(event["id"])
        assert len(ids) == EVENTS, f"{EVENTS - len(ids)} events were lost ({path})"
        again = sum(len(names) > 1 for names in ids.values())
        assert not again, f"{again} events came by two ids ({path})"
