"""The text of a run is changed from its page: looked at first, and told on every page after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences.behavior import past
from campaigns.audiences.words import sentence
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.revisions.revision import content_of
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.texts.template import Template
from notifications import dispatch
from notifications.keys.credentials import ServiceAccount
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import on_list
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

WRONG = {"title": "Seventy per cent off", "body": "Today", "link": "https://shop.example/wrong"}
RIGHT = "Seven per cent off"
PAGE = "campaigns_run_change_text"


@pytest.fixture
def shop(project: Project, fcm: Fcm) -> Iterator[Project]:
    """One that sends."""
    ServiceAccount.store(project, fcm.service_account)
    yield project
    dispatch.close()


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, 130)
    return make_run(project, name="Spring", template={**WRONG, "locales": {"ko": {"title": "70%"}}})


def written(**texts: str) -> dict[str, str]:
    main = {f"main.{name}": said for name, said in {**WRONG, "image": ""}.items()}
    return {**main, "ko.title": "70%", "revision": "1", **texts}


def look(desk: Desk, run: Run, **texts: str) -> HttpResponse:
    """The main texts by their bare names."""
    named = {f"main.{name}" if name in WRONG else name: said for name, said in texts.items()}
    return desk.confirm(PAGE, run.pk, **written(**named))


def mark_of(reply: HttpResponse) -> str:
    found = re.search(r'name="looked_at" value="(\w+)"', reply.content.decode())
    assert found, text_of(reply)
    return found[1]


def change(desk: Desk, run: Run, **texts: str) -> HttpResponse:
    """Written, looked at, and sent."""
    return look(desk, run, **texts, looked_at=mark_of(look(desk, run, **texts)))


def half_sent(run: Run) -> None:
    """Two have got the old text."""
    for seq in (1, 2):
        row = Recipient.objects.get(run_id=run.pk, seq=seq)
        Delivery.objects.create(
            run_id=run.pk, seq=seq, device_id=row.device_id, status="accepted", attempt=1,
            at=timezone.now(),
        )  # fmt: skip
    run.chunks.update(accepted=2)


def test_a_text_with_a_translated_button_is_changed_and_keeps_it(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    buttons = [{"id": "open", "title": "Open"}]
    korean = {"ko": {"title": "70%", "buttons": {"open": "열기"}}}
    run = make_run(project, template={**WRONG, "buttons": buttons, "locales": korean})

    change(desk, run, title=RIGHT)

    said = content_of(Run.objects.get(pk=run.pk))
    assert (said["title"], said["buttons"], said["locales"]) == (RIGHT, buttons, korean)


def test_what_changes_and_for_whom_is_looked_at_before_anything_is_sent(
    desk: Desk, run: Run
) -> None:
    half_sent(run)
    asked = desk.open(PAGE, run.pk)
    assert "128 recipients still wait and get the new text." in asked
    assert "2 have the old one, or may have it, and keep it." in asked
    assert "some hundreds may still get the old one" in asked
    assert "Look at the change" in asked and "ko · Title" in asked

    reply = look(desk, run, title=RIGHT)
    said = text_of(reply)
    assert "This is what changes" in said and "Send this text from now on" in said
    assert "<del>Seventy</del><ins>Seven</ins>" in reply.content.decode()
    assert Run.objects.get(pk=run.pk).revision == 1, "nothing has been sent"

    reply = change(desk, run, title=RIGHT)
    assert messages_of(reply) == [f"People who still wait in run {run.pk} get the new text."]
    run.refresh_from_db()
    assert (run.revision, content_of(run)["title"]) == (2, RIGHT)
    assert content_of(run)["locales"] == {"ko": {"title": "70%"}}


def test_who_writes_on_after_the_look_looks_again(desk: Desk, run: Run) -> None:
    mark = mark_of(look(desk, run, title=RIGHT))
    reply = look(desk, run, title="Another", looked_at=mark)
    assert "This is what changes" in text_of(reply)
    assert Run.objects.get(pk=run.pk).revision == 1


def test_a_problem_stands_at_its_field_and_a_text_that_is_the_same_is_said_to_be(
    desk: Desk, run: Run
) -> None:
    reply = look(desk, run, **{"ko.title": "{{ first_name"})
    assert "line 1" in text_of(reply) and "This is what changes" not in text_of(reply)
    assert "It says this already" in text_of(look(desk, run))
    assert Run.objects.get(pk=run.pk).revision == 1


def test_who_would_be_skipped_is_told_in_the_look(desk: Desk, run: Run) -> None:
    reply = look(desk, run, body="Today in {{ city }}")
    assert "130 of those waiting would be skipped for lack of “city”." in text_of(reply)


def test_of_two_people_at_once_the_second_is_told(desk: Desk, run: Run) -> None:
    mark = mark_of(look(desk, run, title=RIGHT))
    control.change_text(run, new=NewText(1, {"title": "Bob's"}), by="user:bob")
    reply = look(desk, run, title=RIGHT, looked_at=mark)
    assert "Somebody changed its text in the meantime" in text_of(reply)
    assert content_of(Run.objects.get(pk=run.pk))["title"] == "Bob's"


def test_it_goes_into_the_template_too_if_that_is_asked_for(desk: Desk, run: Run) -> None:
    template = Template.objects.get(pk=run.content["template"])
    assert f"Also in the template “{template}”, for next times" in desk.open(PAGE, run.pk)
    change(desk, run, title=RIGHT, next_times="on")
    template.refresh_from_db()
    assert template.title == RIGHT


def test_a_run_nobody_waits_in_says_so_and_one_that_ended_offers_the_correction(
    desk: Desk, shop: Project, run: Run
) -> None:
    sending.send(run.pk, 1, run.epoch)
    assert "Nobody waits any more" in desk.open(PAGE, run.pk)
    engine.advance(run.pk, now=timezone.now())
    page = desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content
    assert b"verb-change_text" not in page and b"verb-correct" in page


def test_an_editor_changes_no_text_of_a_run(run: Run) -> None:
    editor = logged_in(Role.EDITOR)
    url = reverse(f"admin:{PAGE}", args=[run.pk])
    values = {"_form_submitted": "on", **written(**{"main.title": RIGHT})}
    assert editor.post(url, values).status_code == 403
    assert Run.objects.get(pk=run.pk).revision == 1


# --- Afterwards -----------------------------------------------------------------------------------


@pytest.fixture
def sent(shop: Project) -> Run:
    """Ann got the old text, Bob the new one."""
    for name in ("ann", "bob"):
        make_device(make_contact(shop, external_id=name))
    run = make_run(shop, name="Spring", template=WRONG)
    half_sent_to_first(run)
    control.change_text(run, new=NewText(1, {"title": RIGHT}), by="user:carol")
    sending.send(run.pk, 1, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.state, run.accepted) == ("finished", 2)
    return run


def half_sent_to_first(run: Run) -> None:
    ann = Contact.objects.get(project=run.project_id, external_id="ann")
    row = Recipient.objects.get(run_id=run.pk, contact_id=ann.pk)
    Delivery.objects.create(
        run_id=run.pk, seq=row.seq, device_id=row.device_id, status="accepted", attempt=1,
        at=timezone.now(),
    )  # fmt: skip
    run.chunks.update(accepted=1)


def test_the_page_of_the_run_says_who_got_which_text_and_what_changed(
    desk: Desk, sent: Run
) -> None:
    page = desk.client.get(reverse("admin:campaigns_run_change", args=[sent.pk]))
    said = text_of(page)
    assert "Who got which text" in said and "What revision 2 changed" in said
    assert "<del>Seventy</del><ins>Seven</ins>" in page.content.decode()
    assert re.search(r"1, as launched Recipients 1 0 .* 2 Recipients 1 0 ", said)
    assert "carol changed the text of it" in said
    assert "Revision 2 of the text" in said and "Revision 1 of the text" in said


@pytest.mark.parametrize(("number", "who"), [(1, ["ann"]), (2, ["bob"]), (3, [])])
def test_the_recipients_of_each_revision_are_a_list_of_their_own(
    desk: Desk, sent: Run, number: int, who: list[str]
) -> None:
    page = desk.open("run_deliveries", sent.pk, revision=number)
    assert [name for name in ("ann", "bob") if f" {name} " in page] == who
    csv = desk.client.get(reverse("admin:run_csv", args=[sent.pk]), {"revision": number})
    lines = b"".join(csv.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert [line.split(",")[1] for line in lines[1:]] == who
    assert lines[0].endswith(",revision,variant")


def test_why_and_the_persons_page_name_the_revision(desk: Desk, sent: Run) -> None:
    assert "It says revision 2 of the text." in desk.open("run_why", sent.pk, person="bob")
    ann = Contact.objects.get(external_id="ann")
    assert "revision 1 of the text" in desk.open("person_sent", ann.pk)


def test_pages_of_a_run_whose_text_nobody_changed_speak_of_no_revision(
    desk: Desk, shop: Project
) -> None:
    make_device(make_contact(shop, external_id="ann"))
    run = make_run(shop, template=WRONG)
    sending.send(run.pk, 1, run.epoch)
    pages: list[tuple[str, Any, dict[str, str]]] = [
        ("campaigns_run_change", run.pk, {}),
        ("run_deliveries", run.pk, {}),
        ("run_why", run.pk, {"person": "ann"}),
    ]
    for page, pk, query in pages:
        assert "evision" not in desk.open(page, pk, **query), page


def test_a_correction_goes_to_those_who_got_the_older_text_with_the_newest_one(
    desk: Desk, sent: Run
) -> None:
    asked = desk.open("campaigns_run_correct", sent.pk)
    assert "Those who did not get the newest" in asked and "Only revision 2: 1 device" in asked
    desk.confirm("campaigns_run_correct", sent.pk, revision="older")
    made = Campaign.objects.latest("pk")
    assert on_list(made.audience) == {"ann"}
    assert made.template.title == RIGHT

    desk.confirm("campaigns_run_correct", sent.pk, revision="2")
    assert on_list(Campaign.objects.latest("pk").audience) == {"bob"}
    desk.confirm("campaigns_run_correct", sent.pk, revision="every")
    assert on_list(Campaign.objects.latest("pk").audience) == {"ann", "bob"}


@pytest.mark.parametrize(("number", "who"), [(1, ["ann"]), (2, ["bob"])])
def test_a_freeze_finds_who_got_a_revision_as_a_list_does(
    sent: Run, number: int, who: list[str]
) -> None:
    """It asks for a part of the people at once, and not one by one."""
    value = {"outcome": "accepted", "run": sent.pk, "revision": number, past.KEPT: [sent.pk]}
    asked = past.of_people(value, 1, 2**31)
    with connection.cursor() as cursor:
        cursor.execute(asked.sql, asked.params)
        found = [pk for (pk,) in cursor.fetchall()]
    names = Contact.objects.filter(pk__in=found).values_list("external_id", flat=True)
    assert list(names) == who


def test_a_rule_says_which_text_it_asks_for(sent: Run) -> None:
    value = {"outcome": "accepted", "run": sent.pk, "revision": 1}
    said = sentence({"field": "run", "op": "was", "value": value}, project_id=sent.project_id)
    assert said == f"was reached by run {sent.pk} of “Spring” (revision 1 of its text)"
