"""Fifty people, and everybody who writes them at the same moment: programs, clerks and workers."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth.models import User
from django.db import connections
from django.db.models import QuerySet
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.audiences.audience import Audience
from notifications.people import device
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project

PEOPLE = [f"crowd-{number}" for number in range(50)]
TOKENS = [f"crowd{number}:APA91b" for number in range(60)]
FINE = frozenset({200, 201, 204, 302})
# Erased by somebody else a moment ago: they cannot be found, named, or put on a list.
TOO_LATE = {
    "PATCH": {404},
    "DELETE": {404},
    "POST devices": {400},
    "DELETE devices": {404},
    "PUT audiences": {400},
    "PATCH audiences": {400},
}

log = logging.getLogger(__name__)

# Method, path and body in; the status that came back.
Api = Callable[[str, str, object], int]


class Crowd:
    """`said`: how often each of them heard which status; a worker or a clerk that fails, 500."""

    def __init__(self, project: Project, api: Api, *, seed: int = 7) -> None:
        self.project, self.api, self.seed = project, api, seed
        self.said: Counter[tuple[str, int]] = Counter()
        self.lists = [
            Audience.objects.create(project=project, name=f"List {number}", kind="list")
            for number in range(3)
        ]
        self.clerk = User.objects.filter(username="clerk").first() or User.objects.create_superuser(
            "clerk"
        )

    @property
    def wrong(self) -> list[tuple[str, int, int]]:
        """Who heard what nobody should, and how often."""
        return [
            (who, status, times)
            for (who, status), times in sorted(self.said.items())
            if status not in FINE | TOO_LATE.get(who, set())
        ]

    def bring_everybody(self) -> int:
        owners = zip(PEOPLE, TOKENS, strict=False)
        rows = [{"external_id": one, "devices": [_android(token)]} for one, token in owners]
        return self.api("POST", "contacts/bulk", {"contacts": rows})

    def rage(self, seconds: float, *, threads: int = 8) -> None:
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(threads) as pool:
            for heard in pool.map(lambda number: self._write_on(number, until), range(threads)):
                self.said += heard

    def _write_on(self, number: int, until: float) -> Counter[tuple[str, int]]:
        one = Writer(self, random.Random(self.seed * 100 + number))
        heard: Counter[tuple[str, int]] = Counter()
        try:
            while time.monotonic() < until:
                name, deed = one.dice.choice(one.deeds)
                heard[name, deed()] += 1
        finally:
            connections.close_all()
        return heard


class Writer:
    """One thread of them."""

    def __init__(self, crowd: Crowd, dice: random.Random) -> None:
        self.crowd, self.dice = crowd, dice
        self.desk = Client(raise_request_exception=False, headers={"host": "localhost"})
        self.desk.force_login(crowd.clerk, backend="config.entry.RoleBackend")
        self.desk.post(reverse("admin:project_switch"), {"go_to_project": crowd.project.pk})
        self.deeds: list[tuple[str, Callable[[], int]]] = [
            ("POST contacts/bulk", self.bring),
            ("PUT", self.replace),
            ("PATCH", self.change),
            ("DELETE", self.erase),
            ("POST devices", self.register),
            ("DELETE devices", self.unregister),
            ("PUT audiences", self.put_on_a_list),
            ("PATCH audiences", self.change_a_list),
            ("GET contacts", self.read_everybody),
            ("a clerk erases", self.erase_by_hand),
            ("a clerk changes a list", self.list_by_hand),
            ("a clerk copies a list", self.copy),
            ("a worker retires", self.retire),
            ("a person restores", self.restore),
        ]

    def bring(self) -> int:
        rows = [
            {"external_id": one, "attributes": {"n": self.dice.random()}, "devices": self._some(1)}
            for one in self.dice.sample(PEOPLE, 25)
        ]
        return self._api("POST", "contacts/bulk", {"contacts": rows})

    def replace(self) -> int:
        return self._api("PUT", f"contacts/{self._one()}", {"devices": self._some(3)})

    def change(self) -> int:
        told = {"attributes": {"n": self.dice.random()}, "devices": self._some(3)}
        return self._api("PATCH", f"contacts/{self._one()}", told)

    def erase(self) -> int:
        return self._api("DELETE", f"contacts/{self._one()}", None)

    def register(self) -> int:
        return self._api("POST", "devices", {"contact": self._one(), **self._some(1)[0]})

    def unregister(self) -> int:
        return self._api("DELETE", f"devices/{self.dice.choice(TOKENS)}", None)

    def put_on_a_list(self) -> int:
        one = self.dice.choice(self.crowd.lists)
        told = {"name": one.name, "contacts": self._some_known()}
        return self._api("PUT", f"audiences/{one.pk}", told)

    def change_a_list(self) -> int:
        one = self.dice.choice(self.crowd.lists)
        return self._api("PATCH", f"audiences/{one.pk}", {"contacts": self._some_known()})

    def read_everybody(self) -> int:
        return self._api("GET", "contacts", None)

    def erase_by_hand(self) -> int:
        one = Contact.objects.filter(project=self.crowd.project, external_id=self._one()).first()
        return self._post("notifications_contact_delete", one.pk, post="yes") if one else 204

    def list_by_hand(self) -> int:
        one, mode = self.dice.choice(self.crowd.lists), self.dice.choice(["add", "remove"])
        pasted = "\n".join(self.dice.sample(PEOPLE, 10))
        values = {"name": one.name, "kind": "list", "people": pasted, "mode": mode}
        return self._post("campaigns_audience_change", one.pk, **values)

    def copy(self) -> int:
        one = self.dice.choice(self.crowd.lists)
        return self._done(lambda: one.duplicate().delete())

    def retire(self) -> int:
        ids = self._devices().order_by("?")[:20].values_list("pk", flat=True)
        now = timezone.now()
        return self._done(
            lambda: device.retire(ids, reason="unregistered", by="run 0", sent_at=now, now=now)
        )

    def restore(self) -> int:
        return self._done(lambda: device.restore("run 0", now=timezone.now()))

    def _api(self, method: str, path: str, body: object) -> int:
        return self.crowd.api(method, path, body)

    def _post(self, page: str, pk: int, **values: str) -> int:
        place = reverse(f"admin:{page}", args=[pk])
        return self.desk.post(place, {"project": self.crowd.project.pk, **values}).status_code

    def _done(self, deed: Callable[[], object]) -> int:
        try:
            deed()
        except Exception:
            log.exception("a deed failed")
            return 500
        return 200

    def _one(self) -> str:
        return self.dice.choice(PEOPLE)

    def _some(self, most: int) -> list[dict[str, str]]:
        return [_android(token) for token in self.dice.sample(TOKENS, self.dice.randint(1, most))]

    def _some_known(self) -> list[str]:
        known = Contact.objects.filter(project=self.crowd.project, external_id__in=PEOPLE)
        return [person.external_id for person in known.order_by("?")[:20]]

    def _devices(self) -> QuerySet[Device]:
        return Device.objects.filter(project=self.crowd.project, address__in=TOKENS)


def _android(token: str) -> dict[str, str]:
    return {"token": token, "platform": "android"}
