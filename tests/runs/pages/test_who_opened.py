"""Who opened a run, and who is not known to: among its recipients, in its file and on a person."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.urls import reverse

from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.runs import ended_each_way

pytestmark = pytest.mark.django_db


def of(run: Run, name: str) -> Contact:
    return Contact.objects.get(project=run.project_id, external_id=name)


@pytest.fixture
def run(project: Project) -> Run:
    """“got” opened it; the first of two phones of another only showed it."""
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    run = ended_each_way(project)
    for name, event in (("got", Event.OPENED), ("one-of-two", Event.DISPLAYED)):
        seq = min(
            Recipient.objects.filter(run_id=run.pk, contact_id=of(run, name).pk).values_list(
                "seq", flat=True
            )
        )
        keep([Report(run.pk, seq, event, None)])
    return run


def found(desk: Desk, run: Run, told: str) -> list[str]:
    url = reverse("admin:run_csv", args=[run.pk])
    reply: Any = desk.client.get(url, {"told": told} if told else {})
    text = b"".join(reply.streaming_content).decode()
    return [f"{row['contact']} {row['reported']}" for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.parametrize(
    ("told", "who"),
    [
        ("opened", ["got opened"]),
        ("displayed", ["got opened", "one-of-two displayed"]),
        ("received", ["got opened", "one-of-two displayed"]),
        ("not_opened", ["one-of-two displayed"]),
    ],
)
def test_recipients_are_filtered_by_what_their_phones_reported(
    desk: Desk, run: Run, told: str, who: list[str]
) -> None:
    assert found(desk, run, told) == who
    page = desk.open("run_deliveries", run.pk, told=told)
    for name in ("got", "one-of-two", "dead", "perhaps"):
        assert (f" {name} Android" in page) == any(one.startswith(f"{name} ") for one in who)


def test_each_recipient_says_the_last_step_that_their_phone_reported(desk: Desk, run: Run) -> None:
    page = desk.open("run_deliveries", run.pk)
    assert "Accepted Opened" in page and "Accepted Displayed" in page
    assert "perhaps " in found(desk, run, "")
    assert "Accepted, and not known to have opened it" in page


def test_the_page_of_a_person_says_that_they_opened_it(desk: Desk, run: Run) -> None:
    assert "Accepted · Opened" in desk.open("person_sent", of(run, "got").pk)
    dead = desk.open("person_sent", of(run, "dead").pk)
    assert "Opened" not in dead and "Displayed" not in dead
