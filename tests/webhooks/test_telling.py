"""What happens is put in the outbox by the commit that makes it true, where somebody wants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engagement import store_receipts
from campaigns.engagement.receipt import Event as Receipted
from campaigns.engagement.receipt import Report
from campaigns.engine import engine, freezing
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.consent.record import ConsentAnswer, record_answers
from notifications.people.device import Device, retire
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.webhooks.event_types import EventType
from notifications.webhooks.outbox import Outgoing
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import (
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
)
from tests.given.endpoints import make_endpoint
from tests.given.importing import bring_in

URL = "https://hooks.example.com/"


def told(*kinds: str) -> list[dict[str, Any]]:
    rows = Outgoing.objects.order_by("pk")
    events = [event for row in rows for event in row.events]
    return [event for event in events if not kinds or event["type"] in kinds]


def types() -> list[str]:
    return [event["type"] for event in told()]


def finish(run: Run) -> None:
    for chunk in run.chunks.exclude(state="closed"):
        tasks.send_chunk(run_id=run.pk, number=chunk.number, epoch=run.epoch)
    engine.advance(run.pk, now=clock.now())


def test_a_run_tells_that_it_starts_and_with_which_counts_it_ends(
    project: Project, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "https://push.example.com"
    make_people(project, ["live1:APA91b", "dead-1:APA91b"])
    make_endpoint(project, URL, kinds=[EventType.RUN_STARTED, EventType.RUN_FINISHED])
    run = make_run(project)
    finish(run)

    run.refresh_from_db()
    assert run.state == Run.State.FINISHED
    assert types() == ["run.started", "run.finished"]
    data = told()[-1]["data"]
    assert data["totals"] == {
        "planned": 2, "accepted": 1, "rejected": 1, "skipped": 0, "unknown": 0, "waiting": 0,
    }  # fmt: skip
    assert data["url"] == f"https://push.example.com/admin/campaigns/run/{run.pk}/change/"
    assert data["campaign"] == {"id": run.campaign_id, "name": run.campaign.name}


def test_a_pause_by_hand_and_one_by_itself_are_told_apart(project: Project) -> None:
    make_people(project, 2)
    make_endpoint(project, URL)
    run = make_run(project)
    Outgoing.objects.all().delete()
    control.pause(run, by="user:ada")
    assert types() == ["run.paused"]
    control.resume(run, by="user:ada")
    assert types() == ["run.paused"], "a resumed run has not started again"
    run.pause(Cause.BAD_CREDENTIALS)
    assert types() == ["run.paused", "run.paused", "run.needs_a_person"]
    assert told()[-1]["data"]["cause"] == "bad_credentials"


@pytest.mark.parametrize("resumed_at_once", [True, False])
def test_a_run_that_was_paused_while_its_people_were_chosen_tells_once_that_it_starts(
    project: Project, monkeypatch: pytest.MonkeyPatch, resumed_at_once: bool
) -> None:
    make_people(project, 2)
    make_endpoint(project, URL, kinds=[EventType.RUN_STARTED])
    run = make_run(project, advanced=False)

    def while_chosen(_name: str) -> None:
        control.pause(Run.objects.get(pk=run.pk), by="user:ada")
        if resumed_at_once:
            control.resume(Run.objects.get(pk=run.pk), by="user:ada")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(freezing, "hit", while_chosen)
        engine.advance(run.pk, now=clock.now())
    if not resumed_at_once:
        assert types() == []
        control.resume(Run.objects.get(pk=run.pk), by="user:ada")
    assert types() == ["run.started"]

    control.pause(Run.objects.get(pk=run.pk), by="user:ada")
    control.resume(Run.objects.get(pk=run.pk), by="user:ada")
    assert types() == ["run.started"], "a resumed run has not started again"


def test_a_run_that_was_cancelled_ends_once(project: Project) -> None:
    make_people(project, 2)
    make_endpoint(project, URL, kinds=[EventType.RUN_FINISHED])
    run = make_run(project)
    control.cancel(run, by="user:ada")
    for _ in range(3):
        engine.advance(run.pk, now=clock.now())
    assert [event["data"]["state"] for event in told()] == ["cancelled"]


def test_an_endpoint_for_one_campaign_hears_of_no_other(project: Project) -> None:
    make_people(project, 1)
    mine = make_run(project, advanced=False)
    make_endpoint(project, URL, kinds=[EventType.RUN_PAUSED], only=[mine.campaign_id])
    other = make_run(project, advanced=False)
    for run in (mine, other):
        run.pause(Cause.BY_HAND)
    assert [event["data"]["run"] for event in told()] == [mine.pk]


def test_messages_are_told_of_a_window_in_one_row(project: Project) -> None:
    make_endpoint(project, URL)
    for name, address in (("ada", "live1:APA91b"), ("bob", "dead-1:APA91b")):
        make_device(make_contact(project, external_id=name), address)
    call = Caller(project)
    asked = {"to": {"contacts": ["ada", "bob"]}, "content": {"title": "Hello", "body": "There"}}
    answer = call.post("messages", asked)
    assert answer.status_code == 202, answer.content
    tasks.send_messages()

    (row,) = [row for row in Outgoing.objects.all() if row.events[0]["type"] != "device.retired"]
    heard = {event["type"]: event["data"] for event in row.events}
    assert heard.keys() == {"message.accepted", "message.rejected"}
    assert heard["message.accepted"]["contact"] == "ada"
    assert heard["message.rejected"]["reason"] == "unregistered"
    assert heard["message.accepted"]["message"].split("-")[0] == answer.json()["id"].split("-")[0]
    (retired,) = told("device.retired")
    assert retired["data"] == {
        "device": "dead-1:APA91b", "platform": "android", "contact": "bob",
        "reason": "unregistered",
    }  # fmt: skip


def test_a_message_to_a_person_without_a_device_is_told_as_skipped(project: Project) -> None:
    make_endpoint(project, URL)
    make_contact(project, external_id="ada")
    make_device(make_contact(project, external_id="bob"))
    retired = make_device(make_contact(project, external_id="cem"))
    Device.objects.filter(pk=retired.pk).update(retired_at=timezone.now(), retired_reason="x")
    asked = {"to": {"contacts": ["ada", "bob", "cem"]}, "content": {"title": "Hi", "body": "x"}}
    number = Caller(project).post("messages", asked).json()["id"]
    tasks.send_messages()
    tasks.send_messages()

    heard = {event["data"]["contact"]: event["data"] for event in told()}
    assert {name: data["status"] for name, data in heard.items()} == {
        "ada": "skipped", "bob": "accepted", "cem": "skipped",
    }  # fmt: skip
    assert heard["ada"] == {
        "message": number, "contact": "ada", "device": None, "platform": None,
        "status": "skipped", "reason": "no_device", "fcm_message_id": None, "resent": False,
    }  # fmt: skip
    assert types().count("message.skipped") == 2


def by_hand(project: Project, pk: int, client: Client) -> None:
    Desk(client).confirm("notifications_device_retire", pk)


def logged_out(project: Project, pk: int, client: Client) -> None:
    Caller(project).delete("devices/phone")


def left_out(project: Project, pk: int, client: Client) -> None:
    assert Caller(project).put("contacts/ada", {"devices": []}).status_code == 200


def in_a_file(project: Project, pk: int, client: Client) -> None:
    bring_in(project, "id,token,platform\nada,another,ios\n", mode="replace")


@pytest.mark.parametrize(
    ("retires", "reason"),
    [(by_hand, "by hand"), (logged_out, "removed"), (left_out, "removed"), (in_a_file, "removed")],
)
def test_a_device_that_somebody_retired_is_told_once(
    project: Project, admin_client: Client, retires: Callable[..., None], reason: str
) -> None:
    make_endpoint(project, URL, kinds=[EventType.DEVICE_RETIRED])
    device = make_device(make_contact(project, external_id="ada"), "phone", platform="ios")
    for _ in range(2):
        retires(project, device.pk, admin_client)
    assert [event["data"] for event in told()] == [
        {"device": "phone", "platform": "ios", "contact": "ada", "reason": reason}
    ]


def test_receipts_are_told_once(project: Project) -> None:
    make_people(project, 2)
    make_endpoint(project, URL, kinds=[EventType.RECEIPT])
    run = make_run(project)
    finish(run)
    reports = [Report(run.pk, seq, Receipted.OPENED, None) for seq in (1, 2)]
    for _ in range(2):
        store_receipts.keep(reports)
    heard = [event["data"] for event in told("receipt")]
    assert [(one["event"], one["recipient"]) for one in heard] == [("opened", 1), ("opened", 2)]
    assert heard[0]["campaign"] == run.campaign_id and heard[0]["contact"]
    assert Outgoing.objects.count() == 1


def test_who_says_no_is_told_and_who_says_yes_is_not(project: Project) -> None:
    make_contact(project, external_id="ada")
    make_endpoint(project, URL, kinds=[EventType.OPT_OUT])
    now = timezone.now()
    for wanted in (False, False, True):
        words = [ConsentAnswer("ada", "", wanted, timezone.now())]
        record_answers(project, words, source="app", by="person:ada", now=now)
        now = timezone.now()
    assert [event["data"] for event in told()] == [
        {"contact": "ada", "category": None, "source": "app"}
    ]


def test_what_did_not_happen_is_not_told(project: Project) -> None:
    make_people(project, 1)
    make_endpoint(project, URL)
    run = make_run(project, advanced=False)
    with pytest.raises(RuntimeError), transaction.atomic():
        run.pause(Cause.BY_HAND)
        raise RuntimeError
    assert not Outgoing.objects.exists()


def test_where_nobody_wants_to_hear_nothing_more_is_asked(
    project: Project, django_assert_num_queries: Any
) -> None:
    device = make_device(make_contact(project))
    now = timezone.now()
    make_endpoint(make_project(slug="other"), URL)
    with django_assert_num_queries(4):  # a savepoint, the free rows, the update, its end
        retire([device.pk], reason="unregistered", sent_at=now, now=now)
    assert Device.objects.get().retired_at
    assert not Outgoing.objects.exists()
