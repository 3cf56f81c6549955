"""What comes in large numbers is counted before it is looked at, at every door."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest import MonkeyPatch
from rest_framework import serializers

from notifications.api import contacts, reading
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.values import exact
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_campaign, make_contact, make_run

MANY = 50_000


@pytest.fixture
def judged(monkeypatch: MonkeyPatch) -> list[Any]:
    """Every item whose contents were looked at."""
    seen: list[Any] = []

    def watch(place: Any, name: str) -> None:
        work = getattr(place, name)

        def noted(*given: Any, **told: Any) -> Any:
            seen.append(given)
            return work(*given, **told)

        monkeypatch.setattr(place, name, noted)

    watch(contacts, "read_person")
    watch(reading, "read_device")
    watch(reading, "holds_nul")
    watch(serializers.CharField, "to_internal_value")
    return seen


@pytest.mark.parametrize("item", ["u1", 1, {}, None])
def test_a_static_lists_people_are_counted_first(
    caller: Caller, project: Project, judged: list[Any], item: Any
) -> None:
    listed = make_audience(project, kind="list")
    body = {"name": "L", "contacts": [item] * MANY}
    one = f"audiences/{listed.pk}"
    for method, path in (("POST", "audiences"), ("PUT", one), ("PATCH", one)):
        judged.clear()
        refused = caller(method, path, body)
        assert refused.status_code == 400
        (error,) = refused.json()["errors"]
        assert error["field"] == "contacts"
        assert error["message"] == "At most 10,000; there are 50,000."
        assert len(judged) <= 1  # its name


def test_people_and_devices_and_what_is_known_of_them_are_counted_first(
    caller: Caller, judged: list[Any]
) -> None:
    refused = caller.post("contacts/bulk", {"contacts": [{}] * MANY})
    assert refused.status_code == 400
    assert fields_at_fault(refused) == ["contacts"]
    assert judged == []
    bombs: list[dict[str, Any]] = [
        {"devices": [{}] * MANY},
        {"attributes": {f"k{number}": 1 for number in range(MANY)}},
        {"attributes": {"k": [1] * MANY}},
        {"attributes": {"k": {f"k{number}": 1 for number in range(MANY)}}},
    ]
    for told in bombs:
        refused = caller.put("contacts/ada", told)
        assert refused.status_code == 400
        assert fields_at_fault(refused) == list(told)
        assert len(judged) <= 2  # the person, and that nothing else is known of them
        judged.clear()


def test_of_many_that_do_not_fit_the_first_are_named(caller: Caller, judged: list[Any]) -> None:
    refused = caller.post("audiences", {"name": "L", "contacts": [{}] * 10_000})
    assert refused.status_code == 400
    assert len(fields_at_fault(refused)) == 20

    judged.clear()
    person = {"external_id": "ada", "devices": [{}] * 100}
    answer = caller.post("contacts/bulk", {"contacts": [person] * 10})
    assert answer.status_code == 200
    assert len(answer.json()["rejected"]) == 10 * 20
    assert len(judged) == 10 * (1 + 20)
    assert not Contact.objects.exists()


def many_values(kind: str) -> bytes:
    """More values than are taken, in a body that is far smaller than one may be."""
    return {
        "objects": b'{"rules":{"all":[' + b"{}," * 300_000 + b"{}]}}",
        "numbers": b'{"rules":[' + b"1," * 300_000 + b"1]}",
        "lists in lists": b'{"rules":[' + (b"[" * 25 + b"]" * 25 + b",") * 12_000 + b"1]}",
        "objects in objects": b"[" + (b'{"a":' * 25 + b"1" + b"}" * 25 + b",") * 12_000 + b"1]",
    }[kind]


@pytest.mark.parametrize("kind", ["objects", "numbers", "lists in lists", "objects in objects"])
def test_values_are_counted_before_any_is_read(
    caller: Caller, monkeypatch: MonkeyPatch, kind: str
) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(orjson, "loads", lambda body: read.append(body))
    monkeypatch.setattr(exact, "loads", lambda body: read.append(body))
    for path in ("audiences/estimate", "contacts/bulk"):
        refused = caller.post(path, many_values(kind))
        assert refused.status_code == 413
        assert refused["Content-Type"] == "application/problem+json"
        said = "At most 300,000 values can be sent at once; send it in parts."
        assert refused.json()["detail"] == said
    assert read == []


def test_a_thousand_people_of_whom_much_is_known_are_taken_at_once(caller: Caller) -> None:
    known = {f"k{number}": number if number % 2 else [1, 2] for number in range(100)}
    people = [{"external_id": f"u{number}", "attributes": known} for number in range(1_000)]
    answer = caller.post("contacts/bulk", {"contacts": people})
    assert (answer.status_code, answer.json()["created"]) == (200, 1_000)


LONG = {
    "prefix": "contacts?external_id_prefix=" + "x" * 60_000,
    "since": "contacts?updated_since=" + "2" * 60_000,
    "cursor": "contacts?cursor=" + "2" * 60_000,
    "limit": "contacts?limit=" + "9" * 60_000,
    "many names": "contacts?" + "&".join(f"k{number}=1" for number in range(900)),
    "one name often": "contacts?" + "&".join(["limit=1"] * 900),
    "too many names": "contacts?" + "&".join(["limit=1"] * 2_000),
    "filters": "runs?campaign=" + "9" * 60_000,
    "states": "runs?state=" + ",".join(map(str, range(9_000))),
    "id": "audiences/" + "9" * 5_000,
    "name": "contacts/" + "9" * 60_000,
}


@pytest.mark.parametrize("path", LONG.values(), ids=LONG)
def test_a_long_address_is_refused_in_words(caller: Caller, path: str) -> None:
    answer = caller.get(path)
    assert answer.status_code in (400, 404)
    assert answer["Content-Type"] == "application/problem+json"
    assert len(answer.content) < 5_000


NUMBERS = ["9" * 5_000, "9" * 1_000_000, "-" * 9_000, "1e999999", "٣" * 40]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:3])
def test_a_number_of_any_length_is_refused_in_words(
    caller: Caller, desk: Desk, project: Project, number: str
) -> None:
    campaign = make_campaign(project)
    body = {"name": "C", "audience": campaign.audience_id, "template": campaign.template_id}
    for field in ("audience", "template", "rate_per_second", "ttl_seconds"):
        refused = caller.post("campaigns", {**body, field: number})
        assert refused.status_code == 400
        assert fields_at_fault(refused) == [field]
    form = {"name": "C", "project": number, "audience": number, "template": number}
    assert desk.post("campaigns_campaign_add", **form, ttl_seconds=number).status_code == 200
    times = {
        "campaign": number,
        "schedule_kind": "now",
        "timezone": "UTC",
        "rate_per_second": number,
    }
    assert desk.post("campaign_when", **times).status_code == 200
    asked = {"project": number, "audience": number, "kind": "rules", "person": number}
    assert desk.post("audience_count", **asked).status_code == 200


@pytest.mark.parametrize(
    "header",
    ["Accept-Language", "Accept", "If-None-Match", "Idempotency-Key", "X-Request-ID", "Range",
     "Authorization", "Referer", "Origin", "If-Modified-Since", "Content-Type"],
)  # fmt: skip
@pytest.mark.parametrize("value", ["a," * 30_000, '"' * 60_000, "a;q=0." * 9_000, " " * 60_000])
def test_a_long_header_fails_nothing(
    caller: Caller, desk: Desk, project: Project, header: str, value: str
) -> None:
    make_contact(project, external_id="ada")
    headers = {header.replace("-", "_") if header != "Content-Type" else "content_type": value}
    assert caller.get("contacts/ada", **headers).status_code in (200, 401)
    assert caller.post("audiences", {"name": "A", "rules": {"all": []}}, **headers).status_code in (
        *(201, 400, 401, 415),
    )
    page = desk.client.get(reverse("admin:campaigns_audience_changelist"), headers={header: value})
    assert page.status_code in (200, 400)


LISTS = ("campaigns_audience", "campaigns_template", "campaigns_campaign", "campaigns_run",
         "notifications_contact", "auth_user")  # fmt: skip
TRAIL = "notifications_auditentry"  # one beginning is looked for, blanks and all


@pytest.mark.parametrize(
    ("rows", "said"),
    [*((rows, "Only the first 10 words") for rows in LISTS), (TRAIL, "Only the first 200 letters")],
)
def test_of_a_long_search_the_first_words_are_looked_for(
    desk: Desk, project: Project, rows: str, said: str
) -> None:
    make_run(project)
    address = reverse(f"admin:{rows}_changelist")
    with CaptureQueriesContext(connection) as asked:
        reply = desk.client.get(address, {"q": "zebra " * 9_000})
    assert reply.status_code == 200
    assert said in text_of(reply)
    assert max(query["sql"].upper().count("LIKE") for query in asked) <= 60
    assert desk.client.get(address, {"q": "z" * 60_000}).status_code == 200


def test_a_username_of_any_length_is_only_wrong(db: None) -> None:
    typed = {"username": "x" * 300, "password": "y" * 5_000}
    reply = Client(raise_request_exception=False).post("/admin/login/", typed)
    assert reply.status_code == 200
    assert "150" in text_of(reply)
