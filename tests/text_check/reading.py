"""A text check as somebody has it made: asked for, and read by a worker to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from campaigns import control, tasks
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import TextCheck
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device


def make_reader(
    project: Project, name: str, /, locale: str = "en", platform: str = "android", **attributes: Any
) -> Device:
    person = make_contact(project, external_id=name, locale=locale, attributes=attributes)
    return make_device(person, platform=platform)


def asked(campaign: Campaign, **values: Any) -> TextCheck:
    (check,) = control.begin_text_check(campaign, by="user:alice", now=timezone.now(), **values)
    return check


def read(campaign: Campaign, **values: Any) -> dict[str, Any]:
    """Its report."""
    check = asked(campaign, **values)
    tasks.check_texts(check.pk)
    check.refresh_from_db()
    assert check.state == "finished", (check.state, check.problem)
    return dict(check.report or {})


def read_text(project: Project, **template: Any) -> dict[str, Any]:
    return read(make_campaign(project, template=template))


def found(report: dict[str, Any], *codes: str) -> list[dict[str, Any]]:
    return [one for one in report["findings"] if one["code"] in codes]


def one(report: dict[str, Any], code: str, **values: Any) -> dict[str, Any]:
    """The one finding of this code, with these values."""
    those = [
        each
        for each in found(report, code)
        if all(each.get(name) == value for name, value in values.items())
    ]
    (only,) = those
    return only


def names(finding: dict[str, Any]) -> list[str]:
    rows = Contact.objects.filter(pk__in=finding["people"])
    return sorted(rows.values_list("external_id", flat=True))


def platforms(report: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """By language of the text, and platform."""
    for text in report["texts"]:
        for each in text["platforms"]:
            yield (text["text"], each["platform"]), each
