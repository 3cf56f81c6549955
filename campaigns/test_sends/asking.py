"""Asking for a test: what is tried, on whom and as whom, and how often anybody may.

If the process dies here: all of the test is there or none, and the sweep rings for what is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.translation import gettext, ngettext

from campaigns.planning.campaign import Campaign
from campaigns.planning.variants import launching
from campaigns.runs.variants.group import MAIN, name_of
from campaigns.test_sends.sent_test import DeviceTest, SentTest
from campaigns.test_sends.telling import NO_DEVICE
from campaigns.test_sends.whom import devices_of
from campaigns.texts.template import Template
from notifications.people.contact import Contact
from notifications.people.project import Project

MOST_DEVICES = 100
WITHIN = timedelta(minutes=5)
MOST_OF_ONE, MOST_OF_PROJECT = 10, 30  # tests within that time
TTL_SECONDS = Campaign._meta.get_field("ttl_seconds").get_default()


class Refused(Exception):
    """Nothing is sent; its text says why, to who asked."""


class TooOften(Refused):
    def __init__(self, text: str, seconds: int) -> None:
        super().__init__(text)
        self.seconds = seconds


@dataclass(frozen=True)
class Tried:
    """A text as it would be sent to many."""

    project: Project
    name: str
    content: dict[str, Any]
    category_kind: str = ""
    category: str = ""
    ttl_seconds: int = TTL_SECONDS


def of_template(template: Template) -> Tried:
    """Also one that is not saved. Raises ValidationError, as saving does."""
    template.clean()
    return Tried(template.project, template.name, template.frozen())


def of_campaign(campaign: Campaign, variant: int = MAIN) -> Tried:
    """As a launch at this moment would freeze it. Raises ValidationError."""
    texts = launching.wordings(campaign)
    text = next((one for one in texts if one.number == variant), None)
    if text is None:
        raise ValidationError({"variant": gettext("This campaign has no such variant.")})
    text.template.clean()
    category = campaign.category
    return Tried(
        campaign.project,
        campaign.name if len(texts) == 1 else f"{campaign.name[:110]} ({name_of(variant)})",
        text.template.frozen(),
        category_kind=campaign.kind,
        category=category.slug if category else "",
        ttl_seconds=campaign.ttl_seconds,
    )


def ask(
    tried: Tried,
    to: Sequence[Contact],
    *,
    reads_as: Contact | None = None,
    locale: str = "",
    by: str,
    now: datetime,
) -> SentTest:
    """Write down whom it goes to. Raises Refused."""
    _refuse_silence(tried)
    with transaction.atomic():
        _refuse_too_often(tried.project, by, now)
        reached = devices_of(tried.project, [one.pk for one in to], MOST_DEVICES)
        if len(reached) > MOST_DEVICES:
            said = gettext(
                "They have more than %(most)s devices, the most for one test. Mark fewer people as "
                "testers."
            )
            raise Refused(said % {"most": MOST_DEVICES})
        test = SentTest.objects.create(
            project=tried.project,
            name=tried.name[:120],
            content=tried.content,
            category_kind=tried.category_kind,
            category=tried.category,
            ttl_seconds=tried.ttl_seconds,
            locale=locale,
            reads_as=reads_as.pk if reads_as else None,
            by=by,
            at=now,
        )
        DeviceTest.objects.bulk_create(
            DeviceTest(
                test=test,
                contact_id=one.contact_id,
                device_id=one.device_id,
                platform=one.platform,
                at=now,
                **({} if one.device_id else NOWHERE),
            )
            for one in reached
        )
    return test


NOWHERE = {"status": DeviceTest.Status.SKIPPED, "reason": NO_DEVICE}


def _refuse_silence(tried: Tried) -> None:
    if not (tried.content["title"] or tried.content["body"]):
        raise Refused(gettext("The text is empty: write a title and a text."))


def _refuse_too_often(project: Project, by: str, now: datetime) -> None:
    """Of two at once, the second waits here and counts the first."""
    with connection.cursor() as cursor:
        key = f"tests of project {project.pk}"
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
    lately = SentTest.objects.filter(project=project, at__gt=now - WITHIN)
    own = lately.filter(by=by)
    for rows, most, words in (
        (own, MOST_OF_ONE, _too_many_of_yours), (lately, MOST_OF_PROJECT, _too_many_of_all)
    ):  # fmt: skip
        times = list(rows.order_by("-at").values_list("at", flat=True)[:most])
        if len(times) == most:
            seconds = max(1, int((times[-1] + WITHIN - now).total_seconds()) + 1)
            raise TooOften(f"{words()} {_again_in(seconds)}", seconds)


def _too_many_of_yours() -> str:
    said = gettext(
        "You have sent %(count)s tests within %(minutes)s minutes, the most for one person."
    )
    return said % {"count": MOST_OF_ONE, "minutes": int(WITHIN.total_seconds() / 60)}


def _too_many_of_all() -> str:
    said = gettext(
        "This project has sent %(count)s tests within %(minutes)s minutes, the most for all."
    )
    return said % {"count": MOST_OF_PROJECT, "minutes": int(WITHIN.total_seconds() / 60)}


def _again_in(seconds: int) -> str:
    said = ngettext("Try again in %(count)s second.", "Try again in %(count)s seconds.", seconds)
    return said % {"count": seconds}
