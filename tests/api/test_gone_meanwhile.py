"""What a request stands on may go, or come into use, between its look and its commit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from campaigns import control
from campaigns.audiences import why
from campaigns.planning import launch_problems
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from notifications.people.contact import Contact
from notifications.requests.idempotency import IdempotencyKey
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_project,
    make_template,
)
from tests.given.waiting import eventually, somebody_waits

T = TypeVar("T")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("key", [{}, {"Idempotency_Key": "k1"}], ids=["without a key", "with one"])
def test_a_draft_whose_audience_is_deleted_meanwhile_is_refused(
    monkeypatch: pytest.MonkeyPatch, key: dict[str, str]
) -> None:
    project = make_project()
    alice, people, template = Caller(project), make_audience(project), make_template(project)
    _first(monkeypatch, Campaign, "save", people.delete)
    body = {"name": "A", "audience": people.pk, "template": template.pk}
    answer = alice.post("campaigns", body, **key)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:carillon:gone")
    assert not Campaign.objects.exists() and not IdempotencyKey.objects.exists()


def test_a_template_that_a_draft_takes_meanwhile_is_not_deleted() -> None:
    project = make_project()
    alice, template = Caller(project), make_template(project)
    with ThreadPoolExecutor(1) as program, transaction.atomic():
        make_campaign(project, template=template)
        connection.check_constraints()  # as the API does
        asked = program.submit(_closing, lambda: alice.delete(f"templates/{template.pk}"))
        eventually("it waits for the draft", somebody_waits)
    answer = asked.result(30)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:carillon:in-use")
    assert Template.objects.get() == Campaign.objects.get().template


@pytest.mark.parametrize(
    ("verb", "owner", "step"),
    [
        ("launch", launch_problems, "problems"),
        ("launch", Campaign, "locked"),
        ("stop", Campaign, "locked"),
    ],
)
def test_a_campaign_that_is_deleted_meanwhile_is_neither_launched_nor_stopped(
    monkeypatch: pytest.MonkeyPatch, verb: str, owner: Any, step: str
) -> None:
    campaign = make_campaign(make_project())
    alice = Caller(campaign.project)
    _first(monkeypatch, owner, step, lambda: Campaign.objects.get(pk=campaign.pk).delete())
    answer = alice.post(f"campaigns/{campaign.pk}/{verb}")
    assert answer.status_code == 404
    assert answer.json()["detail"] == f"There is no campaign {campaign.pk} in this project."
    assert not Run.objects.exists()


def test_a_campaign_that_is_being_launched_is_not_deleted() -> None:
    campaign = make_campaign(make_project())
    alice = Caller(campaign.project)
    with ThreadPoolExecutor(1) as program, transaction.atomic():
        run = control.launch(campaign, by="user:bob", now=timezone.now())
        asked = program.submit(_closing, lambda: alice.delete(f"campaigns/{campaign.pk}"))
        eventually("it waits for the launch", somebody_waits)
    answer = asked.result(30)
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:carillon:in-use")
    assert Campaign.objects.get() == run.campaign


def test_nothing_is_explained_of_who_is_erased_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    contact = make_contact(make_project())
    alice, everybody = Caller(contact.project), make_audience(contact.project)
    _first(monkeypatch, why, "explain", lambda: Contact.objects.get().delete())
    path = f"audiences/{everybody.pk}/explain?contact={contact.external_id}"
    answer = alice.get(path)
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["contact"])
    assert answer.json() == alice.get(path).json(), "as for who was never there"


def _first(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, deed: Callable[[], object]
) -> None:
    """Somebody else does this, on a connection of their own, just before."""
    then = getattr(owner, name)

    def in_between(*args: Any, **more: Any) -> Any:
        monkeypatch.setattr(owner, name, then)
        with ThreadPoolExecutor(1) as other:
            other.submit(_closing, deed).result()
        return then(*args, **more)

    monkeypatch.setattr(owner, name, in_between)


def _closing(deed: Callable[[], T]) -> T:
    try:
        return deed()
    finally:
        connections.close_all()
