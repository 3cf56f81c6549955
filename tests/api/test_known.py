"""What is kept of one person: what was sent to them, all that is known, and its erasure."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import tasks
from campaigns.engagement.receipt import Event as Told
from campaigns.engagement.receipt import Report
from campaigns.engagement.store_receipts import keep
from campaigns.results import sent
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events import reading
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.staff.api_key import Scope
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from notifications.webhooks.event_types import EventType
from notifications.webhooks.unpacking import unpack
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.engagement.reached import does, make_goal, minute
from tests.given.builders import make_audience, make_contact, make_device, make_run
from tests.given.endpoints import make_endpoint
from tests.roles.people import logged_in

ADA = "shop/ada?&"  # an app's own id may hold whatever an address splits at
ASKED = "contact=shop/ada%3F%26"


@pytest.fixture
def ada(ours: Project) -> Contact:
    ada = make_contact(ours, external_id=ADA, attributes={"plan": "gold", "n": 1})
    make_device(ada, "phone-of-ada", platform="ios")
    return ada


def delivered(run: Run, **values: Any) -> None:
    """Everybody in it has the same outcome."""
    outcome = {"status": "accepted", "attempt": 1, "at": timezone.now(), **values}
    for seq in range(1, (run.planned or 0) + 1):
        device = Recipient.objects.get(run_id=run.pk, seq=seq).device_id
        Delivery.objects.create(run_id=run.pk, seq=seq, device_id=device, **outcome)


def all_pages(caller: Caller, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while path:
        page = caller.get(path)
        assert page.status_code == 200, page.content
        found += page.json()["results"]
        path = (page.json()["next"] or "").partition("/api/v1/")[2]
    return found


def test_what_became_of_one_person_is_told_of_all_runs_newest_first(
    alice: Caller, ours: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_device(make_contact(ours))  # somebody else, in each run
    make_device(ada, platform="android")
    runs = [make_run(ours) for _ in range(3)]
    delivered(runs[0], message_id="m")
    delivered(runs[2], status="rejected", reason="unregistered")
    monkeypatch.setattr(sent, "RUNS_AT_ONCE", 1)
    rows = all_pages(alice, f"deliveries?{ASKED}&limit=1")
    assert [row["run"] for row in rows] == [runs[2].pk] * 2 + [runs[0].pk] * 2
    assert [row["seq"] for row in rows[:2]] == sorted(row["seq"] for row in rows[:2])
    assert {row["platform"] for row in rows} == {"ios", "android"}
    assert rows[0]["reason"] == "unregistered" and rows[-1]["message_id"] == "m"
    assert all_pages(alice, f"deliveries?{ASKED}") == rows


def test_a_page_without_deliveries_leads_on_to_older_runs(
    alice: Caller, ours: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [make_run(ours) for _ in range(3)]
    delivered(runs[0])
    monkeypatch.setattr(sent, "RUNS_AT_ONCE", 1)
    monkeypatch.setattr(sent, "RUNS_A_PAGE", 1)
    first = alice.get(f"deliveries?{ASKED}").json()
    assert first["results"] == [] and first["next"]
    assert [row["run"] for row in all_pages(alice, f"deliveries?{ASKED}")] == [runs[0].pk]


@pytest.mark.parametrize("path", ["deliveries", "export"])
@pytest.mark.parametrize("query", ["", "?contact=", "?contact=nobody", "?contact=%00"])
def test_a_question_about_nobody_is_refused_by_its_field(
    alice: Caller, charlie: Caller, path: str, query: str
) -> None:
    make_contact(charlie.project, external_id="nobody")
    response = alice.get(f"{path}{query}")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["contact"]


def whole(response: Any) -> Any:
    """A streamed answer, read to its end."""
    assert response.status_code == 200, response.content
    return json.loads(b"".join(response.streaming_content))


def test_an_export_holds_everything_that_is_known_of_one_person(
    alice: Caller, ours: Project, ada: Contact
) -> None:
    other = make_contact(ours, external_id="other")
    make_device(other, "phone-of-other")
    make_audience(ours, name="VIPs", kind="list").members.create(contact=ada)
    make_audience(ours, name="Not hers", kind="list").members.create(contact=other)
    run = make_run(ours)
    delivered(run)
    alice.patch(f"contacts/{ADA.replace('?', '%3F')}", {"subscribed": False})
    alice.post("suppressions", {"external_ids": [ADA]})
    did = {"contact": ADA, "name": "bought", "properties": {"price": 7}}
    assert alice.post("events", {"events": [did]}).status_code == 200
    known = whole(alice.get(f"export?{ASKED}"))
    assert known["contact"]["external_id"] == ADA
    assert known["contact"]["attributes"] == {"plan": "gold", "n": 1}
    assert [device["token"] for device in known["devices"]] == ["phone-of-ada"]
    assert [one["name"] for one in known["lists"]] == ["VIPs"]
    assert known["consent"]["subscribed"] is False and known["consent"]["suppressed_at"]
    assert [change["wanted"] for change in known["consent"]["history"]] == [False]
    assert [(one["name"], one["properties"]) for one in known["events"]] == [
        ("bought", {"price": 7})
    ]
    assert [(one["run"], one["status"]) for one in known["deliveries"]] == [(run.pk, "accepted")]


def test_an_export_holds_what_her_phones_told_what_she_did_and_who_was_told_of_her(
    alice: Caller, ours: Project, ada: Contact
) -> None:
    other = make_contact(ours, external_id="other")
    make_device(other)
    make_endpoint(ours, "https://hooks.example.com/", kinds=[EventType.RECEIPT], batched=True)
    run = make_goal(ours)
    mine, theirs = (
        Recipient.objects.get(run_id=run.pk, contact_id=one.pk).seq for one in (ada, other)
    )
    keep([Report(run.pk, seq, Told.OPENED, minute(10)) for seq in (mine, theirs)])
    for who in (ada, other):
        does(who, 20, price=5)
    unpack(now=timezone.now())

    known = whole(alice.get(f"export?{ASKED}"))
    (told,) = known["receipts"]
    assert (told["run"], told["seq"], told["event"]) == (run.pk, mine, "opened")
    assert told["at_phone"] == minute(10).isoformat().replace("+00:00", "Z") < told["at"]
    (goal,) = known["goals"]
    assert (goal["run"], goal["event"], goal["after"]) == (run.pk, "bought", "opened")
    assert goal["touched_at"] == told["at_phone"]
    assert [float(one["value"]) for one in goal["reached"]] == [5]
    (report,) = known["reports"]
    assert (report["endpoint"], report["state"]) == ("Shop", "waiting")
    assert [one["data"]["recipient"] for one in report["events"]] == [mine]
    assert "other" not in str(known)


def test_an_export_holds_what_became_of_messages_to_her(project: Project) -> None:
    ada = make_contact(project, external_id="ada")
    make_device(ada, "live1:APA91b")
    call = Caller(project)
    asked = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "There"}}
    assert call.post("messages", asked).status_code == 202
    tasks.send_messages()
    row = Recipient.objects.get(contact_id=ada.pk)
    keep([Report(row.run_id, row.seq, Told.RECEIVED, None)])
    known = whole(call.get("export?contact=ada"))
    assert [(one["run"], one["status"]) for one in known["deliveries"]] == [
        (row.run_id, "accepted")
    ]
    assert [(one["run"], one["event"]) for one in known["receipts"]] == [(row.run_id, "received")]


def test_an_export_is_in_the_trail_without_a_name(
    alice: Caller, ours: Project, ada: Contact
) -> None:
    whole(alice.get(f"export?{ASKED}"))
    [entry] = AuditEntry.objects.filter(project=ours)
    assert (entry.action, entry.about) == ("exported", f"person {ada.pk}")
    kept = json.dumps([entry.subject, entry.subject_name, entry.changes, entry.detail])
    assert "ada" not in kept and "gold" not in kept


def test_the_scopes_of_people_and_of_runs_open_their_own_door(ours: Project, ada: Contact) -> None:
    people, runs = Caller(ours, [Scope.CONTACTS]), Caller(ours, [Scope.RUNS])
    assert whole(people.get(f"export?{ASKED}"))
    assert runs.get(f"export?{ASKED}").status_code == 403
    assert runs.get(f"deliveries?{ASKED}").status_code == 200
    assert people.get(f"deliveries?{ASKED}").status_code == 403


def happened(person: Contact, number: int, at: datetime) -> Event:
    return Event(person.external_id, "bought", at, {"number": number, "price": 7.50})


def test_an_export_reads_its_events_in_pages_and_repeats_or_loses_none(
    alice: Caller, ours: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "AT_ONCE", 2)
    same, before = timezone.now(), timezone.now() - timedelta(days=40)
    write(ours.pk, [happened(ada, n, same if n < 5 else before) for n in range(8)])
    with CaptureQueriesContext(connection) as queries:
        told = whole(alice.get(f"export?{ASKED}"))["events"]
    assert sorted(one["properties"]["number"] for one in told) == list(range(8))
    assert [one["at"] for one in told] == sorted((one["at"] for one in told), reverse=True)
    pages = [one["sql"] for one in queries if "FROM notifications_event" in one["sql"]]
    assert len(pages) == 5 and all("LIMIT 2" in page for page in pages)


def test_an_export_holds_its_place_among_the_slow_ones_until_it_is_read(
    alice: Caller, desk: Desk, ours: Project, ada: Contact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "AT_ONCE", 1)
    first: Any = alice.get(f"export?{ASKED}")
    refused = alice.get(f"export?{ASKED}")
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert refused.json()["type"] == "urn:carillon:busy"
    page = f"/admin/notifications/contact/{ada.pk}/change/"
    sent_back = desk.client.get(page.replace("change", "export"), follow=True)
    assert sent_back.redirect_chain == [(page, 302)]
    assert "Too many slow requests are running" in sent_back.content.decode()
    assert AuditEntry.objects.filter(action="exported").count() == 1
    assert whole(first)["contact"]["external_id"] == ADA
    assert whole(alice.get(f"export?{ASKED}"))


def test_an_export_of_somebody_erased_meanwhile_never_looks_whole(
    alice: Caller, ada: Contact
) -> None:
    streamed: Any = alice.get(f"export?{ASKED}")
    Contact.objects.filter(pk=ada.pk).delete()
    with pytest.raises(Contact.DoesNotExist):
        whole(streamed)


# --- On the page of the person -------------------------------------------------------------------


@pytest.fixture
def desk(ours: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def test_the_page_downloads_the_same_export_as_a_file(
    alice: Caller, desk: Desk, ours: Project, ada: Contact
) -> None:
    reply: Any = desk.client.get(f"/admin/notifications/contact/{ada.pk}/export/")
    assert reply["Content-Disposition"] == f'attachment; filename="person-{ada.pk}.json"'
    assert whole(reply) == whole(alice.get(f"export?{ASKED}"))
    entries = AuditEntry.objects.filter(action="exported").order_by("pk")
    assert [entry.actor.partition(":")[0] for entry in entries] == ["user", "key"]


def test_who_may_only_look_takes_no_copy_away(ours: Project, ada: Contact) -> None:
    viewer = Desk(logged_in(Role.VIEWER))
    page = viewer.client.get(f"/admin/notifications/contact/{ada.pk}/change/")
    assert page.status_code == 200 and b"export" not in page.content
    assert viewer.client.get(f"/admin/notifications/contact/{ada.pk}/export/").status_code == 403
    assert not AuditEntry.objects.filter(action="exported").exists()


def test_an_erased_person_leaves_numbers_that_balance_and_no_name(
    alice: Caller, desk: Desk, ours: Project, ada: Contact
) -> None:
    make_audience(ours, kind="list").members.create(contact=ada)
    run = make_run(ours)
    delivered(run)
    before = alice.get(f"runs/{run.pk}").json()["totals"]
    page = desk.client.get(f"/admin/notifications/contact/{ada.pk}/change/")
    assert f"/admin/notifications/contact/{ada.pk}/delete/" in page.content.decode()
    asked = desk.client.get(f"/admin/notifications/contact/{ada.pk}/delete/")
    assert "Past deliveries stay in the totals, without a name" in asked.content.decode()
    assert Contact.objects.filter(pk=ada.pk).exists()
    desk.client.post(f"/admin/notifications/contact/{ada.pk}/delete/", {"post": "yes"})
    assert not Contact.objects.filter(pk=ada.pk).exists()
    assert alice.get(f"runs/{run.pk}").json()["totals"] == before
    assert Delivery.objects.filter(run_id=run.pk).count() == 1
    [entry] = AuditEntry.objects.filter(action="erased")
    assert entry.about == f"person {ada.pk}" and ADA not in json.dumps(entry.changes)
