"""What a run's page says is in words of its reader, and in no language of a program."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from campaigns.results.reason_steps import detail_in_words
from campaigns.runs.ledger import Delivery, Recipient, Retry
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import doubtful


def settled(run: Run, status: str, reason: str, detail: str) -> None:
    row = Recipient.objects.filter(run_id=run.pk).earliest("seq")
    Delivery.objects.create(
        run_id=run.pk, seq=row.seq, device_id=row.device_id, status=status, reason=reason,
        detail=detail, attempt=1, at=timezone.now(),
    )  # fmt: skip
    run.chunks.update(**{status: 1}, reasons={reason: 1})


DETAILS = [
    ("missing_value", "'city' is undefined", "No value for city"),
    ("missing_value", "order.id is undefined", "No value for order.id"),
    ("missing_value", "“city” is missing", "No value for city"),
    ("expired", "last answer: throttled",
     "The last answer: Still throttled by FCM after the last try"),
    ("unanswered", "at last: unregistered", "The last answer: App uninstalled or address expired"),
    ("template_error", "OverflowError: timestamp out of range", "timestamp out of range"),
    ("template_error", "FilterArgumentError: divided_by: can't divide by 0\n -> '{{ n }}' 1:7",
     "divided_by: can't divide by 0"),
    ("template_error", "title and body are empty for this person",
     "title and body are empty for this person"),
    ("unregistered", "Requested entity was not found.", "Requested entity was not found."),
    ("invalid_message", "message.data.link: must be an https address",
     "message.data.link: must be an https address"),
    ("unknown_answer", "418: I am a teapot", "418: I am a teapot"),
    ("of_the_next_release", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "detail", "said"), DETAILS)
def test_a_workers_detail_is_said_in_words(reason: str, detail: str, said: str) -> None:
    assert detail_in_words(reason, detail) == said


def test_the_recipients_page_and_the_persons_page_say_what_is_missing(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    settled(run, "skipped", "missing_value", "'city' is undefined")

    person = Contact.objects.get()
    pages = [desk.open("run_deliveries", run.pk), desk.open("person_sent", person.pk)]

    for page in pages:
        assert "No value for city" in page and "undefined" not in page


def test_a_detail_is_read_in_the_readers_language(project: Project) -> None:
    with translation.override("ko"):
        said = detail_in_words("expired", "last answer: throttled")
    assert "Still throttled" not in said and "throttled" not in said


def test_one_unknown_outcome_is_one(desk: Desk, project: Project) -> None:
    doubtful(project)
    said = desk.open("index")
    assert "It ended with 1 unknown outcome." in said
    assert not re.search(r"\b1 (outcomes|characters|recipients)\b", said)


@pytest.mark.parametrize(("after", "said"), [(-60, "due now"), (3_600, "next ")])
def test_the_next_try_is_never_in_the_past(
    desk: Desk, project: Project, after: int, said: str
) -> None:
    make_people(project, 1)
    run = make_run(project)
    due = timezone.now() + timedelta(seconds=after)
    chunk = run.chunks.get()
    Retry.objects.create(run=run, seq=1, chunk=chunk, tries=1, not_before=due, reason="throttled")

    live, one = desk.open("run_live", run.pk), desk.open("run_chunk", run.pk, chunk=1)

    assert said in live
    assert ("1 is due now" in one) == (after < 0) != ("The next is due at" in one)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"id": "A1", "paid": True}, "id A1, paid yes"),
        ([{"sku": "x1"}, "two"], "sku x1, two"),
        ([], "–"),
        ({}, "–"),
    ],
)
def test_a_persons_attributes_are_shown_without_brackets_and_quotes(
    desk: Desk, project: Project, value: Any, said: str
) -> None:
    person = make_contact(project, attributes={"last_order": value})

    known = desk.open("notifications_contact_change", person.pk).partition("What is known")[2]

    assert f"last order {said}" in known.partition("What was sent")[0]


def test_the_platform_of_a_device_that_was_removed_is_still_shown_and_found(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project), platform="ios")
    make_device(make_contact(project))
    run = make_run(project)
    Device.objects.all().delete()

    page = desk.open("run_deliveries", run.pk, platform="ios")
    rows = page.rpartition("When")[2]

    assert "iOS removed" in rows and "Android" not in rows
