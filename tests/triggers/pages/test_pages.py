"""An automation on the pages: defined in plain words, reviewed, turned on, counted, paused."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from campaigns import control
from campaigns.triggers import deciding
from campaigns.triggers.automation import Automation
from campaigns.triggers.trigger import Trigger
from notifications.keys.credentials import ServiceAccount
from notifications.people.consent.category import Category
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_automation,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.triggers.doing import work

pytestmark = pytest.mark.django_db
ADD, CHANGE = "campaigns_automation_add", "campaigns_automation_change"
LIST, REVIEW = "campaigns_automation_changelist", "automation_review"


@pytest.fixture
def typed(project: Project) -> dict[str, Any]:
    """As somebody fills in the form."""
    return {
        "project": project.pk,
        "name": "Forgotten cart",
        "event_name": "added_to_cart",
        "where-0-property": "price",
        "where-0-op": "gte",
        "where-0-value": "10",
        "where-1-property": "kind",
        "where-1-op": "in",
        "where-1-value": 'shoes, 5, "5", true',
        "template": make_template(project, name="Still there?").pk,
        "delay_seconds": "1 h 30 min",
        "once_in_seconds": "1 day",
        "unless_name": "bought",
    }


def do(project: Project, who: str, name: str = "added_to_cart", **properties: Any) -> None:
    write(project.pk, [Event(who, name, timezone.now() - timedelta(minutes=1), properties)])


def test_what_is_typed_in_plain_words_is_an_automation(
    desk: Desk, project: Project, typed: dict[str, Any]
) -> None:
    desk.save(ADD, **typed)
    made = Automation.objects.get()
    assert (made.state, made.delay_seconds, made.once_in_seconds) == ("draft", 5_400, 86_400)
    assert made.where == [
        {"property": "price", "op": "gte", "value": 10},
        {"property": "kind", "op": "in", "value": ["shoes", 5, "5", True]},
    ]
    shown = desk.client.get(reverse(f"admin:{CHANGE}", args=[made.pk])).content.decode()
    assert 'value="shoes, 5, &quot;5&quot;, true"' in shown
    assert 'value="1 h 30 min"' in shown

    desk.save(CHANGE, made.pk, **typed)
    made.refresh_from_db()
    assert made.where[1]["value"] == ["shoes", 5, "5", True]


def test_a_condition_that_is_emptied_is_gone(
    desk: Desk, project: Project, typed: dict[str, Any]
) -> None:
    desk.save(ADD, **typed)
    made = Automation.objects.get()
    without = {name: value for name, value in typed.items() if not name.startswith("where-")}
    desk.save(CHANGE, made.pk, **without)
    made.refresh_from_db()
    assert made.where == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"event_name": "a\u200bb"}, "A name is one line"),
        ({"unless_name": "9\u200blives"}, "A name is one line"),
        ({"where-0-value": "much"}, "gte takes a number"),
        ({"where-0-property": ""}, "“property”"),
        ({"delay_seconds": "29 days"}, "Between 0 s and 28 days"),
        ({"delay_seconds": "soon"}, "Write it like"),
        ({"unless_name": "", "unless_where-0-property": "a", "unless_where-0-op": "exists"},
         "Conditions need the name of an event"),
        ({"template": 999_999}, "Select a valid choice"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_is_kept(
    desk: Desk, typed: dict[str, Any], wrong: dict[str, Any], said: str
) -> None:
    assert said in desk.save(ADD, **{**typed, **wrong})
    assert not Automation.objects.exists()


def test_an_event_that_is_missing_is_asked_for_once(desk: Desk, typed: dict[str, Any]) -> None:
    page = desk.save(ADD, **{**typed, "event_name": ""})
    assert page.count("This field is required") == 1 and "A name starts" not in page


def test_the_review_says_what_it_does_and_what_it_would_have_done(
    desk: Desk, project: Project, typed: dict[str, Any]
) -> None:
    for name in ("ada", "bob", "eve"):
        make_contact(project, external_id=name)
        do(project, name, price=20, kind="shoes")
    do(project, "ada", price=20, kind="shoes")
    do(project, "ada", price=5, kind="shoes")
    do(project, "bob", "bought")

    said = text_of(desk.post(REVIEW, **typed))

    assert (
        "After “added_to_cart” where price is at least 10 and kind is one of shoes, 5, 5, true, "
        "the person is sent “Still there?” 1 h 30 min later, at most once in 1 day, unless "
        "“bought” came meanwhile." in said
    )
    assert "Events 4 of 3 people Messages 2 The other event came 1 Sent shortly before 1" in said


def test_the_review_of_what_nobody_does_says_so_and_an_unfinished_one_what_is_missing(
    desk: Desk, typed: dict[str, Any]
) -> None:
    assert "No such event came in the last 7 days" in text_of(desk.post(REVIEW, **typed))
    unfinished = text_of(desk.post(REVIEW, **{**typed, "event_name": "", "template": ""}))
    assert "Event, Template" in unfinished


def test_an_automation_is_turned_on_paused_and_archived_by_dialogs(
    desk: Desk, project: Project
) -> None:
    automation = make_automation(project, on=False)
    for verb, state in (("turn_on", "on"), ("pause", "paused"), ("archive", "archived")):
        reply = desk.confirm(f"campaigns_automation_{verb}", automation.pk)
        assert reply.headers["HX-Redirect"].endswith(f"/{automation.pk}/change/")
        automation.refresh_from_db()
        assert automation.state == state
    actions = AuditEntry.objects.filter(subject_kind="automation").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["turned on", "paused", "archived"]


def test_what_changed_since_it_was_looked_at_is_not_turned_on(desk: Desk, project: Project) -> None:
    automation = make_automation(project, on=False)
    automation.template.__class__.objects.update(body="Something else")
    reply = desk.confirm("campaigns_automation_turn_on", automation.pk, looked_at="older")
    assert "Something has changed since" in text_of(reply)
    automation.refresh_from_db()
    assert automation.state == "draft"


def test_one_that_is_not_ready_says_why_in_the_dialog(desk: Desk, project: Project) -> None:
    automation = make_automation(project, on=False)
    automation.template.__class__.objects.update(title="", body="")
    page = desk.open("campaigns_automation_turn_on", automation.pk)
    assert "The text is empty" in page


def test_the_dialog_reads_as_who_did_it_last_and_warns_of_what_is_missing(
    desk: Desk, project: Project
) -> None:
    text = {"title": "{{ first_name }}: {{ item }}", "body": "{{ price | default: 'cheap' }}"}
    automation = make_automation(project, on=False, template=make_template(project, **text))
    for name in ("ada", "bob", "carol"):
        make_contact(project, external_id=name, attributes={"first_name": name.title()})
    page = desk.open("campaigns_automation_turn_on", automation.pk)
    assert "‹item›" in page and "{{" not in page
    assert "Of 3 people, 3 have no “item”: if the event does not bring it" in page

    do(project, "bob")
    do(project, "ada", item="shoes", price=79.9)
    page = desk.open("campaigns_automation_turn_on", automation.pk)
    assert "Ada: shoes 79.9" in page and "As ada reads it, who did it last." in page
    assert "Of the newest 2 events, 1 have no “item”" in page
    assert "{{" not in page and "first_name" not in page

    do(project, "carol", first_name=None, item="hats")  # what the event says wins
    page = desk.open("campaigns_automation_turn_on", automation.pk)
    assert "‹first_name›: hats cheap" in page and "carol would be sent nothing." in page
    assert "Of the newest 3 events, 1 have no “first_name”" in page


def test_one_that_is_on_shows_its_numbers_and_no_form(desk: Desk, project: Project) -> None:
    automation = make_automation(project, once_in_seconds=86_400)
    make_contact(project, external_id="ada")
    for _ in range(3):
        do(project, "ada")
    deciding.decide(timezone.now())

    page = desk.open(CHANGE, automation.pk)

    assert "Events 3 Waiting for their time 0 Messages 1" in page
    assert "Already sent to this person within the time 2" in page
    assert "Pause it to change what it does" in page
    html = desk.client.get(reverse(f"admin:{CHANGE}", args=[automation.pk])).content.decode()
    assert 'name="event_name"' not in html
    refused = desk.post(CHANGE, automation.pk, name="x", event_name="y")
    assert refused.status_code == 403


def test_each_count_leads_to_the_list_of_what_it_counts(
    fcm: Fcm, desk: Desk, project: Project
) -> None:
    ServiceAccount.store(project, fcm.service_account)
    automation = make_automation(project, once_in_seconds=86_400)
    for name, address in (("ada", "live1:APA91b"), ("bob", "dead-1:APA91b"), ("carol", "")):
        person = make_contact(project, external_id=name)
        if address:
            make_device(person, address)
        do(project, name)
    do(project, "ada")
    work()
    do(project, "ada")

    page = desk.client.get(reverse(f"admin:{CHANGE}", args=[automation.pk])).content.decode()
    place = reverse("admin:automation_events", args=[automation.pk])
    links = dict(re.findall(f'href="{place}([^"]*)">([0-9,]+)', page))
    assert links == {
        "": "5", "?state=waiting": "1", "?state=sent": "3", "?not_sent=within_window": "1",
        "?came_to=accepted": "1", "?came_to=rejected": "1", "?came_to=no_device": "1",
        "?why=unregistered": "1",
    }  # fmt: skip
    for query, count in links.items():
        listed = desk.client.get(f"{place}{query}").content.decode()
        assert listed.count('<td class="c-first">') == int(count), query
    rejected = text_of(desk.client.get(f"{place}?came_to=rejected"))
    assert "bob" in rejected and "carol" not in rejected
    sent = Trigger.objects.filter(state="sent").first()
    assert sent is not None and sent.message in desk.open("automation_events", automation.pk)
    assert (
        f'href="{place}?state=sent">3</a>'
        in desk.client.get(reverse(f"admin:{LIST}")).content.decode()
    )


def test_older_events_are_a_page_further_and_another_projects_are_not_shown(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.triggers.pages.events.PAGE", 1)
    automation = make_automation(project)
    for name in ("carol", "bob"):
        make_contact(project, external_id=name)
        do(project, name)
    first = desk.open("automation_events", automation.pk)
    assert "bob" in first and "carol" not in first
    newest = Trigger.objects.order_by("-pk").first()
    assert newest is not None
    second = desk.open("automation_events", automation.pk, after=newest.pk)
    assert "carol" in second and "bob" not in second

    theirs = make_automation(make_project())
    place = reverse("admin:automation_events", args=[theirs.pk])
    reply = desk.client.get(place)
    assert reply.status_code == 409, "it is of another project: one has to go there first"
    assert theirs.name not in text_of(reply)


def test_the_list_shows_states_and_counts_and_an_empty_one_what_belongs_here(
    desk: Desk, project: Project
) -> None:
    assert "An automation answers what somebody does" in desk.open(LIST)
    make_automation(project, name="Cart")
    make_contact(project, external_id="ada")
    do(project, "ada")
    deciding.decide(timezone.now())
    page = desk.open(LIST)
    assert "After “added_to_cart”, the person is sent" in page
    assert "Cart" in page and " On " in page


def test_of_two_who_save_the_second_sees_what_the_first_saved(
    desk: Desk, project: Project, typed: dict[str, Any]
) -> None:
    desk.save(ADD, **typed)
    made = Automation.objects.get()
    html = desk.client.get(reverse(f"admin:{CHANGE}", args=[made.pk])).content.decode()
    seen = html.split('name="seen" value="')[1].split('"')[0].replace("&quot;", '"')
    desk.save(CHANGE, made.pk, **{**typed, "delay_seconds": "2 h"}, seen=seen)

    said = desk.save(CHANGE, made.pk, **{**typed, "name": "Mine"}, seen=seen)

    assert "saved this automation on" in said
    made.refresh_from_db()
    assert (made.name, made.delay_seconds) == ("Forgotten cart", 7_200)


def test_a_form_that_is_saved_does_not_turn_off_what_somebody_turned_on_meanwhile(
    project: Project,
) -> None:
    automation = make_automation(project, on=False)
    read_before = Automation.objects.get(pk=automation.pk)
    control.turn_on(automation, by="user:alice")
    read_before.name = "Mine"
    read_before.save()
    automation.refresh_from_db()
    assert (automation.state, automation.name) == ("on", "Mine")


def test_a_form_from_before_it_was_turned_on_does_not_change_what_it_does(
    project: Project,
) -> None:
    automation = make_automation(project, on=False)
    read_before = Automation.objects.get(pk=automation.pk)
    control.turn_on(automation, by="user:alice")
    read_before.delay_seconds = 60
    with pytest.raises(ValidationError, match="It is on"):
        read_before.full_clean()


def test_an_editor_defines_what_only_a_sender_turns_on(
    project: Project, typed: dict[str, Any]
) -> None:
    editor = Desk(logged_in(Role.EDITOR))
    editor.save(ADD, **typed)
    made = Automation.objects.get()
    assert editor.confirm("campaigns_automation_turn_on", made.pk).status_code == 403
    sender = Desk(logged_in(Role.SENDER))
    assert sender.confirm("campaigns_automation_turn_on", made.pk).status_code == 200
    made.refresh_from_db()
    assert made.state == "on"
    viewer = Desk(logged_in(Role.VIEWER))
    assert "What it does" in viewer.open(CHANGE, made.pk)
    assert viewer.post(ADD, **typed).status_code == 403


def test_a_draft_is_deleted_and_what_it_uses_says_who_uses_it(desk: Desk, project: Project) -> None:
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    automation = make_automation(project, on=False, name="Cart", category=offers)
    for page, row in (("template", automation.template), ("category", offers)):
        model = "campaigns" if page == "template" else "notifications"
        reply = desk.client.post(
            reverse(f"admin:{model}_{page}_delete", args=[row.pk]), {"post": "yes"}, follow=True
        )
        assert "the automation “Cart”" in text_of(reply)
    desk.post("campaigns_automation_delete", automation.pk, post="yes")
    assert not Automation.objects.exists()


def test_the_pages_are_drawn_in_korean(client: Client, desk: Desk, project: Project) -> None:
    automation = make_automation(project, unless_name="bought")
    desk.client.cookies["django_language"] = "ko"
    for page, *args in ((LIST,), (ADD,), (CHANGE, automation.pk)):
        with translation.override("ko"):
            assert desk.open(page, *args)
