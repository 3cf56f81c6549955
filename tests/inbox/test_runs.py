"""A campaign that also goes into the inbox: one item a person, whatever becomes of their phones."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from campaigns.sending.inbox import run_items
from notifications.inbox.item import InboxItem
from notifications.inbox.storing import New, store
from notifications.inbox.text import InboxText
from notifications.people.consent.suppression import suppress
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_people, make_run, make_template
from tests.given.by_hand import let_leases_lapse
from tests.inbox.shared import change_text, send_once, try_again
from tests.servers.fcm import Fcm

PERSONAL = {"title": "Hello {{ first_name }}", "body": "Tea is cheaper."}


def launched(project: Project, **other: Any) -> Run:
    template = make_template(project, **{**PERSONAL, **other.pop("content", {})})
    return make_run(project, **{"inbox": True, "template": template, **other})


def items(project: Project) -> list[str]:
    mine = InboxItem.objects.filter(project=project).order_by("contact__external_id")
    return list(mine.values_list("text__content__title", flat=True))


def test_each_person_has_one_item_in_their_language_however_many_phones(project: Project) -> None:
    ada = make_contact(project, external_id="ada", attributes={"first_name": "Ada"})
    bora = make_contact(project, external_id="bora", attributes={"first_name": "보라"}, locale="ko")
    for person in (ada, ada, bora):
        make_device(person)

    send_once(
        launched(project, content={"locales": {"ko": {"title": "{{ first_name }}님, 안녕하세요"}}})
    )

    assert items(project) == ["Hello Ada", "보라님, 안녕하세요"]
    assert Delivery.objects.count() == 3


def test_without_the_tick_there_is_none(project: Project) -> None:
    make_people(project, 1)

    send_once(launched(project, inbox=False))

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

    send_once(run)

    assert items(project) == ["Hello Ada", "Hello Dan"]


def test_who_is_tried_again_later_finds_it_now_and_once(project: Project) -> None:
    make_people(project, ["throttled-1:APA91b"])
    run = launched(project)

    send_once(run)

    assert not Delivery.objects.exists()
    assert items(project) == ["Hello Ada"]
    send_once(run)
    assert items(project) == ["Hello Ada"]


def test_people_who_are_told_the_same_at_once_share_its_text(project: Project) -> None:
    make_people(project, 30)

    send_once(launched(project, content={"title": "Tea"}))

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

    keep = run_items.keep
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(run_items, "keep", die)
        send_once(run)
    assert not InboxItem.objects.exists()
    assert not Delivery.objects.exists()

    let_leases_lapse()
    send_once(run)

    assert items(project) == ["Hello Ada"]
    assert Delivery.objects.count() == 1


def test_who_is_tried_again_with_a_corrected_text_finds_that_one_and_the_wrong_one_is_gone(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 1)
    fcm.script("answer", answer="unavailable", times=1)
    run = launched(project)
    send_once(run)
    assert items(project) == ["Hello Ada"]
    InboxItem.objects.update(seen_at=timezone.now())
    wrong = InboxItem.objects.get()

    change_text(run, "Seven per cent off", link="https://shop.example/right")
    try_again(run)

    assert Delivery.objects.get(run_id=run.pk).revision == 2
    item = InboxItem.objects.get()
    assert item.text.content["title"] == "Seven per cent off"
    assert item.text.content["link"] == "https://shop.example/right"
    assert (item.pk, item.seen_at) == (wrong.pk, wrong.seen_at), "it is the same item"
    assert not InboxText.objects.filter(pk=wrong.text_id).exists()


def test_an_older_text_that_is_written_later_does_not_come_back(project: Project) -> None:
    """Of a person's two devices, the slower answer may be to the older text."""
    ada = make_contact(project)
    newer = {"title": "New", "body": "x"}
    older = {"title": "Old", "body": "x"}
    store(project.pk, [New(ada.pk, "run 1", newer, revision=2)])

    assert store(project.pk, [New(ada.pk, "run 1", older)]) == 0

    assert items(project) == ["New"]
    assert InboxText.objects.count() == 1


def test_of_two_devices_in_one_window_the_item_is_written_once(project: Project) -> None:
    ada = make_contact(project)
    for _ in range(2):
        make_device(ada)
    run = launched(project)
    change_text(run, "New")

    send_once(run)

    assert items(project) == ["New"]


def test_the_wrong_text_stays_for_others_who_still_have_it(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    fcm.script("answer", answer="unavailable", times=1)
    run = launched(project, content={"title": "Tea"})
    send_once(run)
    assert InboxText.objects.count() == 1

    change_text(run, "Coffee")
    try_again(run)

    assert sorted(items(project)) == ["Coffee", "Tea"]
    assert InboxText.objects.count() == 2
