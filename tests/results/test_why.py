"""Why did somebody get a run, or not? Asked by a program and on the page, for each way it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns import tasks
from campaigns.engagement.receipt import Event, Receipt
from campaigns.engine import engine, forgetting
from campaigns.runs.ledger import Recipient, Retry
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_contact,
    make_device,
    make_project,
    make_run,
    make_scheduled_run,
)
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
SEOUL = {"all": [{"field": "attributes.city", "op": "eq", "value": "Seoul"}]}


@pytest.fixture
def api(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.VIEWER))


def person(project: Project, name: str, *addresses: str, city: str = "Seoul") -> Contact:
    made = make_contact(project, external_id=name, attributes={"city": city})
    for address in addresses:
        make_device(made, address)
    return made


def to_seoul(project: Project, **values: Any) -> Run:
    return make_run(
        project,
        audience=make_audience(project, rules=SEOUL),
        template={"title": "Hello", "body": "Rain"},
        **values,
    )


def sent(run: Run) -> Run:
    sending.send(run.pk, 1, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def why(api: Caller, run: Run, name: str) -> dict[str, Any]:
    reply = api.get(f"runs/{run.pk}/why?contact={name}")
    assert reply.status_code == 200, reply.content
    found: dict[str, Any] = reply.json()
    return found


def page(desk: Desk, run: Run, name: str) -> str:
    return desk.open("run_why", run.pk, person=name)


# --- Who was in it --------------------------------------------------------------------------------


def test_who_got_it_is_told_when_and_how_they_stand_now(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = sent(to_seoul(project))

    told = why(api, run, "ann")

    assert told["answer"].startswith("ann was sent to on ")
    assert told["answer"].endswith(", and FCM took it.")
    assert (told["ending"], told["cause"], told["in_snapshot"]) == ("accepted", None, True)
    assert (told["frozen_from"], told["frozen_at"]) != (None, None)
    (device,) = told["recipients"]
    assert (device["status"], device["platform"], device["answers"]) == ("accepted", "android", [])
    (window,) = device["windows"]
    assert window["opened_at"] <= window["settled_at"] and not window["lost"]
    assert told["now"]["selected"] is True
    assert told["now"]["rules"]["all"][0] == SEOUL["all"][0] | {"holds": True, "seen": "Seoul"}

    text = page(desk, run, "ann")
    assert told["answer"] in text
    assert "A request was about to leave." in text and "FCM took it." in text
    assert "The run was frozen on" in text and "may have been otherwise then" in text
    assert "What cannot be known" not in text


def test_each_device_is_told_by_itself(project: Project, api: Caller, desk: Desk) -> None:
    person(project, "ann", "", "dead-1:APA91b")
    run = sent(to_seoul(project))

    told = why(api, run, "ann")

    assert told["ending"] == "partly" and "for 1 of 2 devices" in told["answer"]
    dead = next(one for one in told["recipients"] if one["status"] == "rejected")
    assert dead["reason_text"] == "App uninstalled or address expired"
    (answer,) = dead["answers"]
    assert (answer["http"], answer["code"]) == (404, "UNREGISTERED")
    assert (answer["verdict"], answer["may_have_arrived"]) == ("dead_address", False)
    text = page(desk, run, "ann")
    assert "FCM answered 404 UNREGISTERED: App uninstalled or address expired." in text
    assert "the address comes back by itself when the app is opened again" in text
    assert "retired on" in text and "after the freeze" in text


def test_a_refusal_is_in_the_first_sentence(project: Project, api: Caller) -> None:
    person(project, "ann", "dead-1:APA91b")
    told = why(api, sent(to_seoul(project)), "ann")
    assert told["answer"] == (
        "ann was to be sent to, and FCM did not take it: App uninstalled or address expired."
    )


def test_who_waits_for_another_try_is_told_when_and_why(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "throttled-1:APA91b")
    run = sent(to_seoul(project))

    told = why(api, run, "ann")

    assert told["ending"] == "waiting"
    assert "waits for another try: Too many requests, says FCM. It is due on" in told["answer"]
    (device,) = told["recipients"]
    assert device["retry"]["tries"] == 1 and device["retry"]["reason"] == "throttled"
    assert device["answers"][0]["http"] == 429
    assert "Another try is due, after 1 so far." in page(desk, run, "ann")


def test_an_answer_that_may_have_arrived_is_told_so(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "broken-1:APA91b")
    run = sent(to_seoul(project, on_unknown="hold"))

    told = why(api, run, "ann")

    assert told["answer"].startswith("Nobody knows whether ann got it: FCM failed")
    assert told["recipients"][0]["answers"][0]["may_have_arrived"] is True
    assert "FCM answered 500 INTERNAL" in (text := page(desk, run, "ann"))
    assert "It may have arrived." in text


def test_who_said_no_before_their_turn_was_in_it_and_was_skipped(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = to_seoul(project)
    record_answers(
        project,
        [ConsentAnswer("ann", EVERYTHING, wanted=False)],
        source="app",
        by="key:x",
        now=timezone.now(),
    )

    told = why(api, sent(run), "ann")

    assert told["answer"] == (
        "ann was in the snapshot, and nothing was sent: This person does not want such messages."
    )
    assert told["now"]["consent"]["reason"] == "unsubscribed"
    text = page(desk, run, "ann")
    assert "They do not want such messages. Since" in text and "after the freeze" in text


def test_who_is_suppressed_now_is_told_since_when(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = sent(to_seoul(project))
    suppress(project, ["ann"], reason="asked", by="user:alice", now=timezone.now())

    told = why(api, run, "ann")

    assert told["ending"] == "accepted"
    assert told["now"]["consent"]["reason"] == "suppressed"
    assert "On the suppression list: nothing is sent to them. Since" in page(desk, run, "ann")


def test_what_the_phone_told_stands_beside_its_own_clock(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = sent(to_seoul(project))
    wrong = datetime(2011, 2, 3, 4, 5, 6, tzinfo=UTC)
    Receipt.objects.create(run_id=run.pk, seq=1, event=Event.OPENED, phone_at=wrong)

    (device,) = why(api, run, "ann")["recipients"]

    (receipt,) = device["receipts"]
    assert (receipt["event"], receipt["phone_at"]) == ("opened", "2011-02-03T04:05:06Z")
    assert receipt["at"] > "2020"
    text = page(desk, run, "ann")
    assert "The phone told: Opened. by its own clock 3 Feb 2011, 04:05:06" in text


@pytest.mark.parametrize(("moment", "zone"), [
    (datetime.max.replace(tzinfo=UTC), "Asia/Seoul"),
    (datetime.min.replace(tzinfo=UTC), "America/New_York"),
])  # fmt: skip
def test_a_phone_whose_clock_is_at_the_end_of_time_is_told_of(
    project: Project, api: Caller, desk: Desk, moment: datetime, zone: str
) -> None:
    Project.objects.filter(pk=project.pk).update(timezone=zone)
    person(project, "ann", "")
    run = sent(to_seoul(project))
    Receipt.objects.create(run_id=run.pk, seq=1, event=Event.OPENED, phone_at=moment)
    assert f"by its own clock {moment.day} {moment:%b}" in page(desk, run, "ann")


def test_a_device_that_is_gone_or_somebody_elses_was_in_it_all_the_same(
    project: Project, desk: Desk
) -> None:
    ann, bob = person(project, "ann", "", ""), person(project, "bob", city="Busan")
    run = sent(to_seoul(project))
    first, second = ann.devices.order_by("pk")
    Device.objects.filter(pk=first.pk).update(contact=bob)
    second.delete()

    text = page(desk, run, "ann")

    assert "another person's since" in text
    assert "Android a device removed since" in text


# --- Who was not ----------------------------------------------------------------------------------


def test_the_rule_that_does_not_hold_now_is_named_with_the_value_seen(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    person(project, "bob", "", city="Busan")
    run = sent(to_seoul(project))

    told = why(api, run, "bob")

    said = "bob was not in the snapshot. Now they would not be: city is not Seoul (it is Busan)."
    assert told["answer"] == said
    assert (told["ending"], told["cause"], told["in_snapshot"]) == ("not_in", "rules", False)
    assert told["recipients"] == [] and told["now"]["selected"] is False
    text = page(desk, run, "bob")
    assert said in text and "✗ no city is Seoul (it is Busan)" in text
    assert "Whether they had other devices then" in text


def test_who_would_be_in_now_has_changed_since(project: Project, api: Caller) -> None:
    person(project, "ann", "")
    bob = person(project, "bob", "", city="Busan")
    run = sent(to_seoul(project))
    bob.attributes = {"city": "Seoul"}
    bob.save()

    told = why(api, run, "bob")

    assert told["cause"] == "nothing_now"
    assert told["answer"].endswith("Now they would be: something must have changed since.")
    assert any("written again on" in gap for gap in told["not_known"])


def test_who_was_registered_later_could_not_be_in(project: Project, api: Caller) -> None:
    person(project, "ann", "")
    run = sent(to_seoul(project))
    person(project, "late", "")

    told = why(api, run, "late")

    assert told["cause"] == "person_later"
    assert "They were registered on" in told["answer"]


def test_devices_keep_somebody_out(project: Project, api: Caller, desk: Desk) -> None:
    person(project, "ann", "")
    person(project, "none")
    gone, later = person(project, "gone", ""), person(project, "later", "")
    ago = timezone.now() - timedelta(days=2)
    gone.devices.update(retired_at=ago, retired_reason="unregistered")
    later.devices.update(retired_at=ago, retired_reason="unregistered")
    run = sent(to_seoul(project))
    later.devices.update(retired_at=None, retired_reason="", registered_at=timezone.now())

    causes = {name: why(api, run, name)["cause"] for name in ("none", "gone", "later")}

    assert causes == {"none": "no_device", "gone": "retired", "later": "device_later"}
    assert "All their devices had been retired before." in page(desk, run, "gone")
    assert "before the freeze" in page(desk, run, "gone")
    assert "registered, or registered again, on" in page(desk, run, "later")


def test_a_device_nobody_had_seen_for_long_was_left_out(
    project: Project, api: Caller, desk: Desk
) -> None:
    Project.objects.filter(pk=project.pk).update(leave_out_unseen_days=30)
    person(project, "ann", "")
    idle = person(project, "idle", "")
    idle.devices.update(last_seen_at=timezone.now() - timedelta(days=40))

    run = sent(to_seoul(project))

    assert why(api, run, "idle")["cause"] == "unseen"
    assert "None of their devices had been seen since" in page(desk, run, "idle")
    idle.devices.update(last_seen_at=timezone.now())
    assert why(api, run, "idle")["cause"] == "nothing_now", "they may have been seen then, too"


def test_rules_that_cannot_be_asked_any_more_say_so(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    person(project, "bob", "", city="Busan")
    run = sent(to_seoul(project))
    Run.objects.filter(pk=run.pk).update(rules={"all": [{"field": "gone", "op": "no"}]})

    told = why(api, run, "bob")

    assert told["cause"] == "rules_unasked" and told["now"]["rules"] is None
    assert "no longer work" in told["answer"]
    assert told["now"]["problem"] in page(desk, run, "bob")


def test_rules_on_past_runs_mean_those_there_were_when_it_was_frozen(
    project: Project, api: Caller
) -> None:
    """Asked anew they would cover this run too, and say that whoever got it should not have."""
    person(project, "ann", "")
    first = sent(to_seoul(project))
    person(project, "bob", "")
    unreached = {"field": "run", "op": "was_not", "value": {"outcome": "accepted", "within": "P7D"}}
    rest = make_audience(project, rules={"all": [unreached]})
    run = sent(make_run(project, audience=rest, template={"title": "Again"}))

    assert why(api, run, "bob")["now"]["selected"] is True
    told = why(api, run, "ann")
    assert told["cause"] == "rules" and "Now they would not be: was reached by" in told["answer"]

    Run.objects.filter(pk=first.pk).update(forgotten_at=timezone.now())
    told = why(api, run, "ann")
    assert told["cause"] == "rules_unasked"
    assert "ask for runs whose recipients were removed" in told["answer"]


# --- Nobody knows, or not yet ---------------------------------------------------------------------


def test_of_a_run_that_has_not_begun_it_is_told_when_it_is_due(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = make_scheduled_run(
        project, datetime(2031, 5, 31, 12, tzinfo=UTC), audience=make_audience(project, rules=SEOUL)
    )
    told = why(api, run, "ann")
    assert (told["ending"], told["in_snapshot"], told["frozen_at"]) == ("not_yet", None, None)
    assert "It is due on 31 May 2031" in told["answer"]
    assert told["now"]["selected"] is True
    assert "The run is not frozen yet." in page(desk, run, "ann")

    run.cancel()
    told = why(api, run, "ann")
    assert (told["ending"], told["in_snapshot"]) == ("nobody", False)


def test_of_a_run_whose_rows_were_removed_nobody_knows(
    project: Project, api: Caller, desk: Desk
) -> None:
    person(project, "ann", "")
    run = sent(to_seoul(project))
    forgetting.forget(run, by="user:alice", now=timezone.now())

    told = why(api, run, "ann")

    assert (told["ending"], told["in_snapshot"]) == ("forgotten", None)
    assert "Nobody can tell any more whether ann was in it" in told["answer"]
    assert "What cannot be known any more" in page(desk, run, "ann")


def test_who_was_erased_is_nobody_any_more(project: Project, api: Caller, desk: Desk) -> None:
    ann = person(project, "ann", "")
    run = sent(to_seoul(project))
    ann.delete()

    assert fields_at_fault(api.get(f"runs/{run.pk}/why?contact=ann")) == ["contact"]
    text = page(desk, run, "ann")
    assert "No person “ann” in this project. They never were, or were erased" in text


def test_a_mistyped_id_finds_those_that_begin_so(project: Project, desk: Desk) -> None:
    person(project, "Ann-42", "")
    run = sent(to_seoul(project))
    assert "Ids that begin so: Ann-42" in page(desk, run, "ann")
    assert "Type somebody's whole external id." in page(desk, run, "")


def test_nobody_is_told_of_another_project(project: Project, api: Caller, desk: Desk) -> None:
    person(make_project(), "stranger", "")
    person(project, "ann", "")
    run = sent(to_seoul(project))
    assert fields_at_fault(api.get(f"runs/{run.pk}/why?contact=stranger")) == ["contact"]
    assert fields_at_fault(api.get(f"runs/{run.pk}/why")) == ["contact"]
    assert Caller(make_project()).get(f"runs/{run.pk}/why?contact=ann").status_code == 404
    assert api.get("runs/999999/why?contact=ann").status_code == 404


# --- A day's messages -----------------------------------------------------------------------------


def ring(api: Caller, name: str, **other: Any) -> Run:
    body = {"to": {"contact": name}, "content": {"title": "Hello", "body": "It left."}, **other}
    reply = api.post("messages", body)
    assert reply.status_code == 202, reply.content
    return Run.every.get(pk=int(reply.json()["id"].partition("-")[0]))


def test_a_message_is_asked_for_by_its_day(project: Project, api: Caller, desk: Desk) -> None:
    for name, addresses in (("ann", ["dead-1:APA91b"]), ("none", []), ("quiet", [""])):
        person(project, name, *addresses)
    ring(api, "none")
    day = ring(api, "ann")
    tasks.send_messages()

    told = why(api, day, "ann")

    assert told["ending"] == "rejected"
    (device,) = told["recipients"]
    assert device["message"].startswith(f"{day.pk}-")
    assert device["answers"][0]["code"] == "UNREGISTERED"
    assert device["message"] in page(desk, day, "ann")
    assert why(api, day, "none")["ending"] == "no_device"
    assert "was not sent any message in this run" in why(api, day, "quiet")["answer"]


def test_a_message_for_later_has_not_left(project: Project, api: Caller, desk: Desk) -> None:
    person(project, "ann", "")
    later = (timezone.now() + timedelta(hours=5)).isoformat()
    day = ring(api, "ann", at=later)
    told = why(api, day, "ann")
    assert told["ending"] == "not_sent" and "has not left yet. It is due on" in told["answer"]
    assert "Messages of" in page(desk, day, "ann")


# --- The ways there -------------------------------------------------------------------------------


def test_the_runs_page_its_recipients_and_the_person_lead_there(
    project: Project, desk: Desk
) -> None:
    ann = person(project, "a nn/é", "")
    bob = person(project, "bob", "", city="Busan")
    run = sent(to_seoul(project))
    there = reverse("admin:run_why", args=[run.pk])
    link = f'href="{there}?person=a%20nn%2F%C3%A9"'

    def html(page: str, pk: int) -> str:
        return desk.client.get(reverse(f"admin:{page}", args=[pk])).content.decode()

    assert f'action="{there}"' in html("campaigns_run_change", run.pk)
    assert link in html("run_deliveries", run.pk)
    assert link in html("person_sent", ann.pk)
    assert f'href="{there}?person=bob"' in html("person_sent", bob.pk)
    assert "a nn/é was sent to on" in desk.open("run_why", run.pk, person="a nn/é")


def test_an_export_has_what_fcm_said_of_the_person(project: Project, api: Caller) -> None:
    person(project, "ann", "dead-1:APA91b")
    person(project, "bob", "dead-2:APA91b")
    sent(to_seoul(project))

    reply: Any = api.get("export?contact=ann")

    export = b"".join(reply.streaming_content).decode()
    assert export.count("UNREGISTERED") == 1


def test_it_is_found_before_the_snapshot_is_whole(project: Project, api: Caller) -> None:
    """While the rest is being frozen, who is not in yet may still come."""
    person(project, "ann", "")
    person(project, "bob", "", city="Busan")
    run = to_seoul(project)
    Run.objects.filter(pk=run.pk).update(unfrozen=(1, 2), evaluated_at=None)

    assert why(api, run, "ann")["ending"] == "waiting"
    assert Recipient.objects.count() == 1 and not Retry.objects.exists()
    told = why(api, run, "bob")
    assert told["ending"] == "not_yet" and "still being frozen" in told["answer"]
