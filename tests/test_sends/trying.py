"""A test send as somebody makes it: the dialog answered, and a worker that hears of it."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from campaigns.test_sends import tasks
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.texts.template import Template
from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_device

ENDS = ("status", "reason")


def make_tester(project: Project, address: str = "", **values: Any) -> Device:
    return make_device(make_contact(project, tester=True, **values), address)


def answered(**asked: str) -> dict[str, str]:
    """The dialog's own fields."""
    given = {"to": "testers", "_form_submitted": "on", **asked}
    return {f"test-{name}": value for name, value in given.items()}


def ask(desk: Desk, template: Template, **asked: str) -> HttpResponse:
    """From the template's page, with the text as it is saved."""
    texts = {name: getattr(template, name) for name in ("name", "title", "body", "image", "link")}
    about = {"settled_project": str(template.project_id), **texts}
    return desk.post("campaigns_template_test", **about, **answered(**asked))


def try_on(desk: Desk, template: Template, **asked: str) -> SentTest:
    """Asked, and sent by a worker."""
    reply = ask(desk, template, **asked)
    assert reply.status_code == 200
    test = SentTest.objects.order_by("-pk").first()
    assert test is not None, reply.content.decode()
    tasks.send_test(test.pk)
    return test


def ends_of(test: SentTest) -> dict[int | None, tuple[str, str]]:
    rows = DeviceTest.objects.filter(test=test).values_list("device_id", *ENDS)
    return {device: (status, reason) for device, status, reason in rows}
