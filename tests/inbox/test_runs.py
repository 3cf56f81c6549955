"""A campaign that also goes into the inbox: one item a person, whatever becomes of their phones."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from campaigns.sending.inbox import of_runs
from campaigns.sending.sending import send
from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.consent.suppression import suppress
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run, make_template
from tests.given.by_hand import let_leases_lapse

PERSONAL = {"title": "Hello {{ first_name }}", "body": "Tea is cheaper."}


def launched(project: Project, **other: Any) -> Run:
    template = make_template(project, **{**PERSONAL, **other.pop("content", {})})
    return make_run(project, **{"inbox": True, "template": template, **other})


def sent(run: Run) -> None:
    """Every chunk there is, once."""
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    for chunk in run.chunks.order_by("number"):
        send(run.pk, chunk.number, run.epoch)


def items(project: Project) -> list[str]:
    mine = InboxItem.objects.filter(project=project).order_by("contact__external_id")
    return list(mine.values_list("text__content__title", flat=True))


def test_each_person_has_one_item_in_their_language_however_many_phones(project: Project) -> None:
    ada = make_contact(project, external_id="ada", attributes={"first_name": "Ada"})
    bora = make_contact(project, external_id="bora", attributes={"first_name": "보라"}, locale="ko")
    for person in (ada, ada, bora):
        make_device(person)

    sent(
        launched(project, content={"locales": {"ko": {"title": "{{ first_name }}님, 안녕하세요"}}})
    )

    assert items(project) == ["Hello Ada", "보라님, 안녕하세요"]
    assert Delivery.objects.count() == 3


def test_without_the_tick_there_is_none(project: Project) -> None:
    make_people(project, 1)

    sent(launched(project, inbox=False))

    assert Delivery.objects.count() == 1
    assert items(project) == []


def test_who_is_not_reached_finds_it_and_who_lacks_a_value_or_is_suppressed_does_not(
    project: Project,
) -> None:
    names = {"ada": "dead-1:APA91b", "ben": "", "cem": "", "dan": "slow-1:APA91b"}
    for name, address in names.items():
        said = {} if name == "ben" else {"first_name": name.title()}
        person = make_contact(project, external_id=name, attributes=said)
        make_device(person, address)
    run = launched(project)
    suppress(project, ["cem"], reason="", by="user:op", now=timezone.now())

    sent(run)

    assert items(project) == ["Hello Ada", "Hello Dan"]


def test_who_is_tried_again_later_finds_it_now_and_once(project: Project) -> None:
    make_people(project, ["throttled-1:APA91b"])
    run = launched(project)

    sent(run)

    assert not Delivery.objects.exists()
    assert items(project) == ["Hello Ada"]
    sent(run)
    assert items(project) == ["Hello Ada"]


def test_people_who_are_told_the_same_at_once_share_its_text(project: Project) -> None:
    make_people(project, 30)

    sent(launched(project, content={"title": "Tea"}))

    assert InboxItem.objects.count() == 30
    assert InboxText.objects.count() == 1


def test_a_worker_that_dies_before_its_commit_leaves_no_item_and_the_next_stores_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 1)
    run = launched(project)

    def die(*given: Any) -> None:
        keep(*given)
        assert InboxItem.objects.count() == 1
        raise SystemExit

    keep = of_runs.keep
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(of_runs, "keep", die)
        sent(run)
    assert not InboxItem.objects.exists()
    assert not Delivery.objects.exists()

    let_leases_lapse()
    sent(run)

    assert items(project) == ["Hello Ada"]
    assert Delivery.objects.count() == 1
