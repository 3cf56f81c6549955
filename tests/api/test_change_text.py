"""A program changes the text of a run for whoever still waits, and reads who got which."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.corrections.change_running_text import NewText
from campaigns.runs.ledger import Delivery
from campaigns.runs.revisions.revision import content_of
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.texts.template import Template
from notifications.keys.credentials import ServiceAccount
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import work
from tests.servers.fcm import Fcm
from tests.variants.shared import TITLES, make_split

WRONG = {"title": "Seventy per cent off", "body": "Today"}
RIGHT = "Seven per cent off"


@pytest.fixture
def run(ours: Project) -> Run:
    make_people(ours, 2)
    return make_run(ours, template={**WRONG, "locales": {"ko": {"title": "70%"}}})


def ask(caller: Caller, run: Run, **body: Any) -> Any:
    return caller.post(f"runs/{run.pk}/change-text", {"revision": 1, **body})


def test_the_new_text_is_a_revision_of_the_run_and_what_is_left_out_stays(
    alice: Caller, run: Run
) -> None:
    reply = ask(alice, run, title=RIGHT, locales={"ko": {"body": "오늘"}})
    assert (reply.status_code, reply.json()["revision"]) == (200, 2)
    said = content_of(Run.objects.get(pk=run.pk))
    assert (said["title"], said["body"]) == (RIGHT, "Today")
    assert said["locales"] == {"ko": {"title": "70%", "body": "오늘"}}


def test_whoever_has_seen_an_older_text_is_refused(alice: Caller, run: Run) -> None:
    ask(alice, run, title=RIGHT)
    reply = ask(alice, run, title="Mine")
    assert (reply.status_code, reply.json()["type"]) == (409, "urn:carillon:invalid-move")
    assert "Somebody changed its text in the meantime" in reply.json()["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"title": "{{"}, "title"),
        ({"title": 7, "revision": "x"}, "revision"),
        ({"locales": {"ko": "x"}}, "locales"),
        ({"locales": {"ko": {"subject": "x"}}}, "locales"),
        ({"subject": "x"}, "subject"),
        ({}, ""),
    ],
)
def test_what_cannot_be_said_is_refused_at_its_field(
    alice: Caller, run: Run, body: dict[str, Any], field: str
) -> None:
    reply = ask(alice, run, **body)
    assert reply.status_code == 400, reply.content
    assert any(one.startswith(field) for one in fields_at_fault(reply)), reply.content
    assert Run.objects.get(pk=run.pk).revision == 1


def test_a_text_that_would_skip_some_who_wait_wants_to_be_told_so(alice: Caller, run: Run) -> None:
    refused = ask(alice, run, title="{{ city }}")
    assert refused.status_code == 409
    assert "2 of those waiting would be skipped for lack of “city”" in refused.json()["detail"]
    assert ask(alice, run, title="{{ city }}", accept_skips=True).status_code == 200


BUTTONS = [{"id": "open", "title": "Open", "link": "https://shop.example/"}]
WITH_BUTTONS = {**WRONG, "buttons": BUTTONS, "locales": {"ko": {"buttons": {"open": "열기"}}}}


def test_a_new_text_of_a_paused_run_keeps_its_buttons_in_every_language(
    alice: Caller, ours: Project, fcm: Fcm
) -> None:
    ServiceAccount.store(ours, fcm.service_account)
    for locale in ("en", "ko"):
        person = make_contact(ours, external_id=locale, locale=locale)
        make_device(person, platform="web")
    run = make_run(ours, template=WITH_BUTTONS)
    control.pause(run, by="user:alice")

    reply = ask(alice, run, title=RIGHT)
    assert reply.status_code == 200, reply.content
    control.resume(Run.objects.get(pk=run.pk), by="user:alice")
    work(Run.objects.get(pk=run.pk))

    said = content_of(Run.objects.get(pk=run.pk))
    assert (said["title"], said["buttons"]) == (RIGHT, BUTTONS)
    assert said["locales"] == WITH_BUTTONS["locales"]
    assert Delivery.objects.filter(run_id=run.pk, revision=2, status="accepted").count() == 2


def test_a_new_text_reaches_a_template_whose_buttons_are_translated(ours: Project) -> None:
    make_people(ours, 2)
    run = make_run(ours, template=WITH_BUTTONS)
    new = NewText(1, {"title": RIGHT}, in_template=True)

    control.change_text(run, new=new, by="user:alice")

    template = Template.objects.get(pk=run.content["template"])
    assert (template.title, template.buttons) == (RIGHT, BUTTONS)
    assert template.locales == WITH_BUTTONS["locales"]


def test_each_revision_is_read_with_who_got_it_and_deliveries_name_theirs(
    alice: Caller, ours: Project, fcm: Fcm
) -> None:
    ServiceAccount.store(ours, fcm.service_account)
    for name in ("ann", "bob"):
        make_device(make_contact(ours, external_id=name))
    run = make_run(ours, template=WRONG)
    ask(alice, run, title=RIGHT)
    sending.send(run.pk, 1, run.epoch)

    first, second = alice.get(f"runs/{run.pk}/revisions").json()["results"]
    told = [(one["revision"], one["content"]["title"], one["accepted"]) for one in (first, second)]
    assert told == [(1, WRONG["title"], 0), (2, RIGHT, 2)]
    assert second["by"].startswith("key:")

    assert Delivery.objects.filter(run_id=run.pk, revision=2).count() == 2
    rows = alice.get(f"runs/{run.pk}/deliveries?revision=2").json()["results"]
    assert [row["revision"] for row in rows] == [2, 2]
    assert alice.get(f"runs/{run.pk}/deliveries?revision=1").json()["results"] == []
    assert alice.get(f"runs/{run.pk}/deliveries?revision=x").status_code == 400
    (mine,) = alice.get("deliveries?contact=ann").json()["results"]
    assert mine["revision"] == 2


def test_a_run_whose_text_nobody_changed_has_one_revision(alice: Caller, run: Run) -> None:
    assert alice.get(f"runs/{run.pk}").json()["revision"] == 1
    (only,) = alice.get(f"runs/{run.pk}/revisions").json()["results"]
    assert (only["revision"], only["by"]) == (1, "user:alice")


def test_another_projects_run_is_not_there(charlie: Caller, run: Run) -> None:
    assert ask(charlie, run, title=RIGHT).status_code == 404
    assert charlie.get(f"runs/{run.pk}/revisions").status_code == 404


def test_of_a_run_with_variants_one_is_changed_and_each_revision_names_whose_it_is(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 4)
    run = control.launch(make_split(ours), by="user:alice", now=timezone.now())
    reply = ask(alice, run, variant="B", title=RIGHT)
    assert (reply.status_code, reply.json()["revision"]) == (200, 2)
    said = alice.get(f"runs/{run.pk}/revisions").json()["results"]
    assert [
        (one["revision"], one["content"]["title"], one["variants"]["B"]["title"]) for one in said
    ] == [(1, TITLES[0], TITLES[1]), (2, TITLES[0], RIGHT)]
    refused = alice.post(f"runs/{run.pk}/change-text", {"revision": 2, "variant": "C", "title": ""})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["variant"])
    assert f"Run {run.pk} has no variant C. Choose one of A, B." in refused.content.decode()
