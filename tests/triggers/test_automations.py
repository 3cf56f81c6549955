"""An event that an automation answers is decided once, and its person is sent a message or not."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import retaining
from campaigns.runs.messages.message import Message
from campaigns.triggers import backtest, deciding
from campaigns.triggers.automation import MAX_LISTENING, Automation
from campaigns.triggers.trigger import LastSent, Trigger
from notifications.people.consent.category import Category
from notifications.people.events import reading
from notifications.people.project import Project
from notifications.people.retention import Retention, change
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_automation,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.servers.fcm import Fcm
from tests.triggers.doing import ago, decisions, did, tell, work

HOUR, DAY = 3_600, 86_400


@pytest.fixture
def call(project: Project) -> Caller:
    for name in ("ada", "bob"):
        make_device(make_contact(project, external_id=name), f"live-{name}:APA91b")
    return Caller(project)


def rung(fcm: Fcm) -> list[str]:
    return [one["address"].partition(":")[0].removeprefix("live-") for one in fcm.witness()]


def test_an_event_rings_its_person_with_the_text_that_its_properties_fill(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    template = make_template(project, title="{{ first_name }}, {{ item }}", body="for {{ price }}")
    automation = make_automation(project, template=template)

    tell(call, did("ada", properties={"item": "shoes", "price": 79.9}), did("bob", "viewed"))
    work()

    (arrived,) = fcm.witness()
    assert (arrived["title"], arrived["body"]) == ("Ada, shoes", "for 79.9")
    trigger = Trigger.objects.get()
    assert (trigger.automation, trigger.state, trigger.properties) == (automation, "sent", {})
    assert call.get(f"messages/{trigger.message}").json()["totals"]["accepted"] == 1


@pytest.mark.parametrize(
    ("where", "answered"),
    [
        ([], 4),
        ([{"property": "price", "op": "gte", "value": 10}], 1),
        ([{"property": "kind", "op": "eq", "value": "shoes"}], 2),
        ([{"property": "kind", "op": "ne", "value": "shoes"}], 2),
        ([{"property": "kind", "op": "in", "value": ["shoes", 5]}], 3),
        ([{"property": "price", "op": "exists"}], 2),
        ([{"property": "kind", "op": "eq", "value": "shoes"},
          {"property": "price", "op": "lt", "value": 10}], 1),
    ],
)  # fmt: skip
def test_only_events_with_the_properties_asked_for_are_answered(
    call: Caller, project: Project, where: list[Any], answered: int
) -> None:
    automation = make_automation(project, where=where)
    each: list[dict[str, Any]] = [
        {"kind": "shoes", "price": 79.9}, {"kind": "shoes", "price": 1}, {"kind": 5}, {}
    ]  # fmt: skip
    tell(call, *(did("ada", properties=one) for one in each))
    work()
    assert decisions(automation) == {"sent": answered}


def test_what_is_answered_later_waits_until_it_is_due(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    make_automation(project, delay_seconds=HOUR)
    tell(call, did("ada", at=ago(minutes=61)), did("bob"))
    work()
    assert rung(fcm) == ["ada"]
    waiting = Trigger.objects.get(state="waiting")
    assert waiting.due_at - waiting.happened_at == timedelta(hours=1)

    deciding.decide(timezone.now() + timedelta(minutes=61))
    tasks.send_messages()
    assert Message.objects.count() == 2


def test_who_did_the_other_thing_meanwhile_is_sent_nothing(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(
        project,
        delay_seconds=HOUR,
        unless_name="bought",
        unless_where=[{"property": "kind", "op": "eq", "value": "shoes"}],
    )
    tell(
        call,
        did("ada", at=ago(minutes=61)),
        did("ada", "bought", at=ago(minutes=30), properties={"kind": "shoes"}),
        did("bob", "bought", at=ago(minutes=70), properties={"kind": "shoes"}),  # before
        did("bob", at=ago(minutes=61)),
        did("bob", "bought", at=ago(minutes=30), properties={"kind": "hats"}),
    )
    work()
    assert rung(fcm) == ["bob"]
    assert decisions(automation) == {"unless_came": 1, "sent": 1}


def test_the_other_thing_in_the_same_moment_counts_and_the_event_itself_does_not(
    call: Caller, project: Project
) -> None:
    """A reminder that each new event of the same name puts off."""
    other = make_automation(project, delay_seconds=HOUR, unless_name="bought")
    again = make_automation(project, delay_seconds=HOUR, unless_name="added_to_cart")
    at = ago(minutes=61)
    tell(call, did("ada", at=at), did("ada", "bought", at=at), did("bob", at=at),
         did("bob", at=ago(minutes=30)))  # fmt: skip
    work()
    assert decisions(other) == {"unless_came": 1, "sent": 1, "waiting": 1}
    assert decisions(again) == {"sent": 1, "unless_came": 1, "waiting": 1}


def test_nobody_is_sent_a_second_message_within_the_window(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(project, once_in_seconds=DAY)
    tell(call, did("ada"), did("ada"), did("bob"))
    work()
    tell(call, did("ada"))
    work()
    assert sorted(rung(fcm)) == ["ada", "bob"]
    assert decisions(automation) == {"sent": 2, "within_window": 2}

    LastSent.objects.update(sent_at=ago(hours=25))
    tell(call, did("ada"))
    work()
    assert sorted(rung(fcm)) == ["ada", "ada", "bob"]


def test_an_automation_that_answers_every_event_sends_as_many_messages(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    make_automation(project)
    tell(call, did("ada"), did("ada"), did("ada"))
    work()
    assert rung(fcm) == ["ada"] * 3


def test_two_automations_answer_one_event_each_for_itself(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    first, second = make_automation(project), make_automation(project, once_in_seconds=DAY)
    make_automation(make_project())  # of others
    make_automation(project, on=False)
    tell(call, did("ada"), did("ada"))
    work()
    assert decisions(first) == {"sent": 2}
    assert decisions(second) == {"sent": 1, "within_window": 1}
    assert Trigger.objects.count() == 4


def test_a_file_of_last_years_events_rings_nobody_and_each_is_decided(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    at_once = make_automation(project)
    later = make_automation(project, delay_seconds=2 * DAY)
    tell(call, did("ada", at=ago(days=300)), did("ada", at=ago(minutes=61)),
         did("bob", at=ago(minutes=59)))  # fmt: skip
    work()
    assert rung(fcm) == ["bob"]
    assert decisions(at_once) == {"too_old": 2, "sent": 1}
    assert decisions(later) == {"too_old": 1, "waiting": 2}


def test_a_paused_automation_decides_that_it_was_paused_and_sends_nothing_later(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(project, delay_seconds=HOUR)
    tell(call, did("ada", at=ago(minutes=59)), did("bob"))
    control.pause_automation(automation, by="user:alice")
    tell(call, did("ada"))
    assert decisions(automation) == {"waiting": 2, "paused": 1}

    deciding.decide(timezone.now() + timedelta(minutes=2))
    assert decisions(automation) == {"waiting": 1, "paused": 2}

    control.turn_on(automation, by="user:alice")
    deciding.decide(timezone.now() + timedelta(minutes=61))
    assert decisions(automation) == {"sent": 1, "paused": 2}


def test_what_came_due_in_a_pause_that_nobody_worked_in_is_not_sent_after_it(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(project, delay_seconds=HOUR)
    tell(call, did("ada", at=ago(minutes=61)))
    control.pause_automation(automation, by="user:alice")
    control.turn_on(automation, by="user:alice")
    work()
    assert rung(fcm) == []
    assert decisions(automation) == {"paused": 1}


def test_what_waits_when_an_automation_is_archived_is_never_sent(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(project, delay_seconds=HOUR)
    tell(call, did("ada"))
    control.archive_automation(automation, by="user:alice")
    tell(call, did("ada"))
    deciding.decide(timezone.now() + timedelta(hours=2))
    tasks.send_messages()
    assert rung(fcm) == []
    assert decisions(automation) == {"ended": 1}


def test_the_texts_category_decides_who_may_be_sent_it(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    receipts = Category.objects.create(
        project=project, name="Receipts", slug="receipts", kind=Category.Kind.TRANSACTIONAL
    )
    make_automation(project, category=receipts)
    make_automation(project)
    project.contact_set.filter(external_id="ada").update(subscribed=False)
    tell(call, did("ada"))
    work()
    assert rung(fcm) == ["ada"]
    ends = [call.get(f"messages/{one.message}").json()["devices"] for one in Trigger.objects.all()]
    assert sorted(end[0]["reason"] for end in ends) == ["", "unsubscribed"]


def test_an_erased_person_takes_their_triggers_along(call: Caller, project: Project) -> None:
    make_automation(project, delay_seconds=HOUR)
    make_automation(project)
    tell(call, did("ada"), did("bob"))
    work()
    assert call.delete("contacts/ada").status_code == 204
    (bob,) = project.contact_set.all()
    assert set(Trigger.objects.values_list("contact_id", flat=True)) == {bob.pk}
    assert set(LastSent.objects.values_list("contact_id", flat=True)) == {bob.pk}
    assert Trigger.objects.count() == 2


def test_a_trigger_whose_person_is_not_there_any_more_is_decided(project: Project) -> None:
    automation = make_automation(project)
    Trigger.objects.create(
        automation=automation, contact_id=2**40, happened_at=ago(hours=0), due_at=ago(hours=0),
        state="waiting",
    )  # fmt: skip
    work()
    assert decisions(automation) == {"person_gone": 1}


def test_an_export_of_a_person_names_what_automations_made_of_their_events(
    call: Caller, project: Project
) -> None:
    automation = make_automation(project, once_in_seconds=DAY, name="Cart")
    tell(call, did("ada"), did("ada"), did("bob"))
    work()
    told = json.loads(call.get("export?contact=ada").getvalue())["automations"]
    assert [(one["automation"], one["event"], one["state"], one["reason"]) for one in told] == [
        ("Cart", "added_to_cart", "not_sent", "within_window"),
        ("Cart", "added_to_cart", "sent", ""),
    ]
    sent = Trigger.objects.get(
        state="sent", contact_id=project.contact_set.get(external_id="ada").pk
    )
    assert (told[1]["message"], sent.automation) == (sent.message, automation)


def test_triggers_are_kept_as_long_as_events_and_while_they_wait(
    call: Caller, project: Project
) -> None:
    Retention.objects.create(project=project, kind="events", days=30)
    automation = make_automation(project, delay_seconds=HOUR)
    tell(call, did("ada", at=ago(minutes=61)), did("bob"))
    tell(call, did("bob", at=ago(minutes=61)))
    work()
    Trigger.objects.filter(state="waiting").update(happened_at=ago(days=40))
    (old, _kept) = Trigger.objects.filter(state="sent")
    Trigger.objects.filter(pk=old.pk).update(happened_at=ago(days=40), decided_at=ago(days=40))

    retaining.delete_expired(now=timezone.now())

    assert decisions(automation) == {"sent": 1, "waiting": 1}


# --- What may be turned on ------------------------------------------------------------------------


def test_an_automation_waits_no_longer_for_the_other_event_than_events_are_kept(
    call: Caller, project: Project
) -> None:
    change(project, "events", 7)
    make_automation(project, delay_seconds=7 * DAY)
    make_automation(project, delay_seconds=7 * DAY - HOUR, unless_name="bought")
    with pytest.raises(ValidationError, match="events are kept for 7 days only") as refused:
        make_automation(project, delay_seconds=7 * DAY, unless_name="bought")
    assert set(refused.value.message_dict) == {"delay_seconds"}

    change(project, "events", 400)
    automation = make_automation(project, delay_seconds=8 * DAY, unless_name="bought", on=False)
    change(project, "events", 7)
    answer = call.post(f"automations/{automation.pk}/on", {})
    assert answer.status_code == 422
    assert fields_at_fault(answer) == ["delay"]
    assert "events are kept for 7 days only" in answer.content.decode()
    automation.refresh_from_db()
    assert automation.state == "draft"


@pytest.mark.parametrize("own", [False, True])
def test_a_phones_clock_that_is_ahead_hides_no_event_that_came_meanwhile(
    call: Caller, fcm: Fcm, project: Project, own: bool
) -> None:
    """Ada's clock is ahead as she fills her cart; Bob's is as he buys."""
    other = "added_to_cart" if own else "bought"
    automation = make_automation(project, delay_seconds=HOUR, unless_name=other)
    ahead = timedelta(minutes=10)
    tell(call, did("ada", at=ago() + ahead), did("bob", at=ago()))
    tell(call, did("ada", other, at=ago()), did("bob", other, at=ago() + timedelta(hours=20)))
    Trigger.objects.exclude(pk__in=Trigger.objects.order_by("pk")[:2]).delete()
    deciding.decide(timezone.now() + timedelta(minutes=71))
    assert decisions(automation) == {"unless_came": 2}
    tasks.send_messages()
    assert rung(fcm) == []


@pytest.mark.parametrize("calls", [1, 2])
def test_what_a_phone_reported_before_is_not_the_other_thing_though_its_clock_is_ahead(
    call: Caller, project: Project, calls: int
) -> None:
    automation = make_automation(project, delay_seconds=HOUR, unless_name="bought")
    events = [did("ada", "bought", at=ago(minutes=-10)), did("ada", at=ago(minutes=-11))]
    for some in (events,) if calls == 1 else ([one] for one in events):
        tell(call, *some)
    deciding.decide(timezone.now() + timedelta(minutes=72))
    assert decisions(automation) == {"sent": 1}


def test_an_order_of_two_events_holds_on_a_phone_whose_clock_is_ahead(
    call: Caller, project: Project
) -> None:
    """The call with the second one came first."""
    automation = make_automation(project, delay_seconds=HOUR, unless_name="bought")
    tell(call, did("ada", "bought", at=ago(minutes=-11)))
    tell(call, did("ada", at=ago(minutes=-10)))
    deciding.decide(timezone.now() + timedelta(minutes=72))
    assert decisions(automation) == {"unless_came": 1}


def test_the_other_thing_happened_at_the_latest_as_it_came(call: Caller, project: Project) -> None:
    """By a phone whose clock is ahead: Ada buys before she fills her cart on the web. Bob fills
    his offline before he buys."""
    automation = make_automation(project, delay_seconds=HOUR, unless_name="bought")
    buys = [did(name, "bought", at=ago(minutes=-10)) for name in ("ada", "bob")]
    tell(call, *buys)
    tell(call, did("ada"), did("bob", at=ago(minutes=30)))
    deciding.decide(timezone.now() + timedelta(minutes=61))
    ada = project.contact_set.get(external_id="ada")
    assert Trigger.objects.get(state="sent").contact_id == ada.pk
    assert decisions(automation) == {"sent": 1, "unless_came": 1}
    foreseen = backtest.look(automation, now=timezone.now())
    assert foreseen and (foreseen.events, foreseen.unless_came) == (2, 1)


def test_an_event_of_a_clock_that_is_ahead_is_not_another_of_its_own_name(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    automation = make_automation(project, delay_seconds=60, unless_name="added_to_cart")
    tell(call, did("ada", at=ago() + timedelta(minutes=10)))
    deciding.decide(timezone.now() + timedelta(minutes=12))
    assert decisions(automation) == {"sent": 1}


def test_an_automation_whose_text_is_empty_cannot_be_turned_on(project: Project) -> None:
    automation = make_automation(project, on=False)
    automation.template.__class__.objects.update(title="", body="")
    automation.refresh_from_db()
    with pytest.raises(Automation.NotReady) as refused:
        control.turn_on(automation, by="user:alice")
    assert set(refused.value.problems) == {"template"}
    automation.refresh_from_db()
    assert automation.state == "draft"


def test_no_more_automations_listen_than_an_event_can_bear(project: Project) -> None:
    template = make_template(project)
    rows = [
        Automation(project=project, name="x", event_name="y", template=template, state="paused",
                   on_since=timezone.now())
        for _ in range(MAX_LISTENING)
    ]  # fmt: skip
    Automation.objects.bulk_create(rows)
    automation = make_automation(project, on=False)
    with pytest.raises(Automation.NotReady, match="at most 50"):
        control.turn_on(automation, by="user:alice")


def test_moves_that_make_no_sense_are_refused(project: Project) -> None:
    automation = make_automation(project, on=False)
    with pytest.raises(Automation.InvalidMove):
        control.pause_automation(automation, by="user:alice")
    control.archive_automation(automation, by="user:alice")
    for verb in (control.turn_on, control.pause_automation, control.archive_automation):
        with pytest.raises(Automation.InvalidMove):
            verb(automation, by="user:alice")


# --- What it costs --------------------------------------------------------------------------------


def statements(call: Caller, *events: dict[str, Any]) -> int:
    with CaptureQueriesContext(connection) as captured:
        tell(call, *events)
    return len([one for one in captured if "SAVEPOINT" not in one["sql"]])


def test_a_project_without_automations_pays_one_look(call: Caller, project: Project) -> None:
    tell(call, did("ada"))
    without = statements(call, *[did("ada")] * 1_000)
    make_automation(project)
    assert statements(call, did("ada")) == without + 2  # what it is, and its triggers
    assert statements(call, *[did("ada")] * 1_000) == without + 2


def test_ten_thousand_events_at_once_are_decided_in_parts(call: Caller, project: Project) -> None:
    automation = make_automation(project, once_in_seconds=DAY, unless_name="bought")
    names = [f"p{number}" for number in range(1_000)]
    project.contact_set.bulk_create(
        project.contact_set.model(project=project, external_id=name) for name in names
    )
    tell(call, *(did(name, "bought") for name in names[:100]))
    tell(call, *(did(name, at=ago(seconds=9)) for name in names * 10))
    assert decisions(automation) == {"waiting": 10_000}

    counts = set()
    with CaptureQueriesContext(connection) as captured:
        while True:
            before = len(captured)
            if not deciding.decide(timezone.now()).triggers:
                break
            counts.add(len(captured) - before)

    assert max(counts) <= 40
    assert decisions(automation) == {"sent": 900, "within_window": 8_100, "unless_came": 1_000}
    assert Message.objects.count() == 900
    assert len(reading.newest_of(project.contact_set.get(external_id="p0").pk)) == 11
