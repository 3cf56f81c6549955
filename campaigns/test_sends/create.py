"""Create a test send: its text, its devices, and limits on how often.

If the process dies here: all of the test is stored or none, and the sweep enqueues what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Model
from django.utils.translation import gettext, gettext_noop, ngettext

from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import MAIN, name_of
from campaigns.test_sends import recipients
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.test_sends.recipients import Recipient
from campaigns.test_sends.report import NO_DEVICE
from campaigns.texts.template import Template
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff import audit
from notifications.staff.subjects import Subject

WITHIN = timedelta(minutes=5)
MAX_OF_ONE, MAX_OF_PROJECT = 10, 30  # tests within that time
TTL_SECONDS = Campaign._meta.get_field("ttl_seconds").get_default()


class Refused(Exception):
    """No test was created. The message tells the user why."""


class TooManyTests(Refused):
    def __init__(self, text: str, seconds: int) -> None:
        super().__init__(text)
        self.seconds = seconds


@dataclass(frozen=True)
class TextToTest:
    """A text as a launch at this moment would freeze it."""

    project: Project
    name: str
    content: dict[str, Any]
    category_kind: str = ""
    category: str = ""
    ttl_seconds: int = TTL_SECONDS
    reads_as: Contact | None = None  # its values are used; None: each recipient's own
    locale: str = ""


def text_of_template(template: Template) -> TextToTest:
    """The template may be unsaved. Raises ValidationError, as saving does."""
    template.clean()
    return TextToTest(template.project, template.name, template.frozen())


def text_of_campaign(campaign: Campaign, variant: int = MAIN) -> TextToTest:
    """Raises ValidationError."""
    texts = campaign_variants.wordings(campaign)
    text = next((wording for wording in texts if wording.number == variant), None)
    if text is None:
        raise ValidationError({"variant": gettext("This campaign has no such variant.")})
    text.template.clean()
    category = campaign.category
    return TextToTest(
        campaign.project,
        campaign.name if len(texts) == 1 else f"{campaign.name[:110]} ({name_of(variant)})",
        text.template.frozen(),
        category_kind=campaign.kind,
        category=category.slug if category else "",
        ttl_seconds=campaign.ttl_seconds,
    )


def create_test(
    text: TextToTest,
    contacts: Sequence[Contact],
    *,
    about: Model | Subject,
    by: str,
    now: datetime,
) -> SentTest:
    """Create a test of this text on the contacts' devices, and log it as an activity on `about`.
    Raises Refused.
    """
    if not (text.content["title"] or text.content["body"]):
        raise Refused(gettext("The text is empty: write a title and a text."))
    with transaction.atomic():
        _check_limits(text.project, by, now)
        devices = recipients.find_devices(text.project, [contact.pk for contact in contacts])
        if len(devices) > recipients.MOST_DEVICES:
            message = gettext(
                "They have more than %(most)s devices, the most for one test. Mark fewer people as "
                "testers."
            )
            raise Refused(message % {"most": recipients.MOST_DEVICES})
        test = SentTest.objects.create(
            project=text.project,
            name=text.name[:120],
            content=text.content,
            category_kind=text.category_kind,
            category=text.category,
            ttl_seconds=text.ttl_seconds,
            locale=text.locale,
            reads_as=text.reads_as.pk if text.reads_as else None,
            by=by,
            at=now,
        )
        DeviceTest.objects.bulk_create(_device_test(test, recipient, now) for recipient in devices)
        detail: dict[str, Any] = {"test": test.pk, "devices": len(devices)}
        audit.record(by, gettext_noop("sent a test of"), about, project=text.project, **detail)
    return test


def _device_test(test: SentTest, recipient: Recipient, now: datetime) -> DeviceTest:
    row = DeviceTest(
        test=test,
        contact_id=recipient.contact_id,
        device_id=recipient.device_id,
        platform=recipient.platform,
        at=now,
    )
    if recipient.device_id is None:
        row.status, row.reason = DeviceTest.Status.SKIPPED, NO_DEVICE
    return row


def _check_limits(project: Project, by: str, now: datetime) -> None:
    """Of two calls at once, the second waits here and counts the first. Raises TooManyTests."""
    with connection.cursor() as cursor:
        key = f"tests of project {project.pk}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    recent = SentTest.objects.filter(project=project, at__gt=now - WITHIN)
    limits = (
        (
            recent.filter(by=by),
            MAX_OF_ONE,
            gettext(
                "You have sent %(count)s tests within %(minutes)s minutes, the most for one person."
            ),
        ),
        (
            recent,
            MAX_OF_PROJECT,
            gettext(
                "This project has sent %(count)s tests within %(minutes)s minutes, the most for "
                "all."
            ),
        ),
    )
    for tests, most, message in limits:
        times = list(tests.order_by("-at").values_list("at", flat=True)[:most])
        if len(times) == most:
            seconds = max(1, int((times[-1] + WITHIN - now).total_seconds()) + 1)
            message %= {"count": most, "minutes": int(WITHIN.total_seconds() / 60)}
            raise TooManyTests(f"{message} {_try_again_in(seconds)}", seconds)


def _try_again_in(seconds: int) -> str:
    message = ngettext("Try again in %(count)s second.", "Try again in %(count)s seconds.", seconds)
    return message % {"count": seconds}
