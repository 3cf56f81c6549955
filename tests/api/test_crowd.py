"""Everybody writes the same fifty people at the same moment, and nobody is told of the others."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_project
from tests.given.crowd import PEOPLE, TOKENS, Crowd
from tests.given.waiting import eventually, somebody_waits

SECONDS = 30 if os.environ.get("PROFILE") == "full" else 4


@pytest.mark.django_db(transaction=True)
def test_everybody_who_writes_the_same_people_at_once_is_served() -> None:
    project = make_project()
    caller = Caller(project)
    crowd = Crowd(project, lambda *asked: caller(*asked).status_code)
    assert crowd.bring_everybody() == 200

    crowd.rage(SECONDS)

    assert crowd.wrong == [], crowd.said
    erased = crowd.said["DELETE", 204]
    assert (
        AuditEntry.objects.filter(action="erased", actor__startswith="key:").count() == erased > 0
    )
    assert crowd.bring_everybody() == 200
    assert Contact.objects.filter(project=project).count() == len(PEOPLE)
    devices = Device.objects.filter(project=project, retired_at=None)
    owners = dict(devices.values_list("address", "contact__external_id"))
    assert owners | dict(zip(TOKENS, PEOPLE, strict=False)) == owners


@pytest.mark.django_db(transaction=True)
def test_what_is_undone_for_anothers_sake_is_done_again_unheard() -> None:
    project = make_project()
    caller = Caller(project)
    one, two = make_contact(project, external_id="1"), make_contact(project, external_id="2")
    rows = [{"external_id": name, "locale": "ko"} for name in ("1", "2")]
    with ThreadPoolExecutor(1) as program, transaction.atomic():
        Contact.objects.select_for_update().get(pk=two.pk)
        answer = program.submit(_closing, caller, rows)
        eventually("it has the first and waits for the second", somebody_waits)
        Contact.objects.select_for_update().get(pk=one.pk)  # a deadlock: theirs is undone
    assert answer.result(30) == 200
    assert set(Contact.objects.values_list("locale", flat=True)) == {"ko"}


def _closing(caller: Caller, rows: list[dict[str, str]]) -> int:
    try:
        return caller.post("contacts/bulk", {"contacts": rows}).status_code
    finally:
        connections.close_all()
