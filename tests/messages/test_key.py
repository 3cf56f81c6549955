"""A key that may not send any more sends nothing, though a process remembers it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.runs.messages.message import Deduplication, Message
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact

WHOM = [{"contact": "ada"}, {"contacts": ["ada"]}, {"list": 7}]


@pytest.fixture
def call(project: Project) -> Caller:
    make_contact(project, external_id="ada")
    call = Caller(project)
    assert send(call).status_code == 202  # it is remembered from now on
    return call


def send(call: Caller, to: Any = None) -> Any:
    content = {"title": "Hello", "body": "x"}
    body = {"to": to or {"contact": "ada"}, "content": content, "deduplicate": {"key": "k"}}
    return call.post("messages", body)


@pytest.mark.parametrize("to", WHOM, ids=str)
def test_a_key_revoked_a_moment_ago_sends_nothing(call: Caller, to: Any) -> None:
    Deduplication.objects.all().delete()
    call.row.revoked_at = timezone.now()
    call.row.save()
    answer = send(call, to)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="carillon"')
    assert answer.json()["detail"] == "This API key is unknown, expired or revoked."
    assert send(call, to).status_code == 401
    assert Message.objects.count() == 1
    assert not Deduplication.objects.exists()


def test_a_key_revoked_a_moment_ago_sends_nothing_in_bulk(call: Caller) -> None:
    call.row.revoked_at = timezone.now()
    call.row.save()
    rows = [{"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "x"}}]
    assert call.post("messages/bulk", {"messages": rows}).status_code == 401
    assert Message.objects.count() == 1


def test_a_key_that_expired_meanwhile_sends_nothing(call: Caller) -> None:
    call.row.expires_at = timezone.now() - timedelta(seconds=1)
    call.row.save()
    assert send(call).status_code == 401
    assert Message.objects.count() == 1


def test_a_key_that_lost_its_scope_sends_nothing(call: Caller) -> None:
    call.row.scopes = ["contacts"]
    call.row.save()
    assert send(call).status_code == 401  # and from then on the door says which scope it lacks
    assert send(call).status_code == 403
    assert Message.objects.count() == 1


def test_a_call_that_is_answered_again_asks_for_the_key_anew(project: Project) -> None:
    make_contact(project, external_id="ada")
    call = Caller(project)
    body = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "x"}}
    assert call.post("messages", body, Idempotency_Key="one").status_code == 202
    call.row.revoked_at = timezone.now()
    call.row.save()
    assert call.post("messages", body, Idempotency_Key="one").status_code == 401
