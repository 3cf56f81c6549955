"""Before a launch: how many would be skipped because of what they said, counted in PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.launch_check.launch_report import LaunchReport
from campaigns.runs.ledger import Delivery
from campaigns.sending import sending
from notifications.people.consent.category import Category
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device, make_people, make_run
from tests.servers.fcm import Fcm


@pytest.fixture
def divided(project: Project) -> Project:
    """Three devices of one who wants nothing, two of who declined offers, one suppressed (who wants
    nothing either), one without a name, two that get it."""
    for external_id, devices in (("nothing", 3), ("no-offers", 2), ("never", 1), ("nameless", 1)):
        named = {} if external_id in ("nameless", "never") else {"first_name": "Ada"}
        contact = make_contact(project, external_id=external_id, attributes=named)
        for _ in range(devices):
            make_device(contact)
    make_people(project, 2)
    now = timezone.now()
    noes = [("nothing", EVERYTHING), ("no-offers", "offers"), ("never", EVERYTHING)]
    words = [ConsentAnswer(person, category, False) for person, category in noes]
    record_answers(project, words, source="api", by="key:abc", now=now)
    suppress(project, ["never", "not here yet"], reason="", by="user:alice", now=now)
    return project


def foretold(project: Project, **values: Any) -> dict[str, int | None]:
    report = LaunchReport(make_campaign(project, **values), timezone.now())
    assert all(loss.exact and loss.example for loss in report.skipped.losses)
    return {str(loss.reason): loss.devices for loss in report.skipped.losses}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (None, {"suppressed": 1, "unsubscribed": 3, "missing_value": 1}),
        ("marketing", {"suppressed": 1, "unsubscribed": 5, "missing_value": 1}),
        ("transactional", {"suppressed": 1, "missing_value": 1}),
        ("critical", {"suppressed": 1, "missing_value": 1}),
    ],
)
def test_the_report_counts_what_the_run_then_skips(
    divided: Project, fcm: Fcm, kind: str | None, expected: dict[str, int]
) -> None:
    category = kind and Category.objects.create(
        project=divided, name="Offers", slug="offers", kind=kind
    )
    assert foretold(divided, category=category or None) == expected
    run = make_run(divided, category=category or None)
    sending.send(run.pk, 1, run.epoch)
    skipped = Delivery.objects.filter(run_id=run.pk, status="skipped")
    reasons = [*skipped.values_list("reason", flat=True)]
    assert {reason: reasons.count(reason) for reason in set(reasons)} == expected


def test_the_report_says_it_in_words(divided: Project) -> None:
    report = LaunchReport(make_campaign(divided), timezone.now())
    assert [str(loss) for loss in report.losses][:2] == [
        "3 devices: their people do not want such messages.",
        "1 device: its person is on the suppression list.",
    ]
    said = "9 devices; 5 will be skipped: 3 unsubscribed, 1 suppressed, 1 no first_name; "
    assert report.outcome == f"{said}4 will be sent to."
