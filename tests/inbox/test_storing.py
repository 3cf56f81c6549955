"""Storing: one row a person, a text for all who share it, and never the same item twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.conf import settings
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import tasks
from notifications.inbox import doorbell
from notifications.inbox.item import InboxItem
from notifications.inbox.storing import New, store
from notifications.inbox.text import InboxText
from notifications.people.consent.suppression import suppress
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.people.retention import Retention
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_project
from tests.roles.people import logged_in

HELLO: dict[str, Any] = {"title": "Hello", "body": "Your order left.", "image": "", "link": "",
                         "data": {}}  # fmt: skip


def new(person: Contact, reference: str = "one", **other: Any) -> New:
    return New(person.pk, reference, {**HELLO, **other.pop("content", {})}, **other)


def people(project: Project, count: int) -> list[Contact]:
    return Contact.objects.bulk_create(
        Contact(project=project, external_id=f"person-{number}") for number in range(count)
    )


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What rings on the doorbell, from now on; channels are one for all databases of a server."""
    monkeypatch.setattr(doorbell, "CHANNEL", f"inbox of {uuid4()}")
    doorbell._RedisPause.until = 0.0
    with redis.Redis.from_url(settings.GATE_URL).pubsub() as listening:  # type: ignore[no-untyped-call]
        listening.subscribe(doorbell.CHANNEL)
        assert listening.get_message(timeout=5.0)

        def rings() -> list[list[int]]:
            found = iter(lambda: listening.get_message(timeout=0.2), None)
            return [json.loads(one["data"]) for one in found]

        yield rings


def test_a_thousand_people_share_one_text_in_a_few_statements(project: Project) -> None:
    everybody = people(project, 1_000)

    with CaptureQueriesContext(connection) as asked:
        assert store(project.pk, [new(person) for person in everybody]) == 1_000

    statements = [one["sql"] for one in asked if "SAVEPOINT" not in one["sql"]]
    assert len(statements) == 4
    assert InboxText.objects.count() == 1
    assert InboxItem.objects.values("contact").distinct().count() == 1_000


def test_storing_again_after_a_crash_makes_no_second_item_and_no_second_text(
    project: Project,
) -> None:
    ada = make_contact(project, external_id="ada")
    assert store(project.pk, [new(ada, content={"title": "Hello Ada"})]) == 1

    assert store(project.pk, [new(ada, content={"title": "Hello Ada"})]) == 0
    assert store(project.pk, [new(ada, "two")]) == 1

    assert InboxItem.objects.filter(contact=ada).count() == 2
    assert InboxText.objects.count() == 2


def test_two_devices_of_a_person_in_one_call_make_one_item(project: Project) -> None:
    ada = make_contact(project, external_id="ada")

    assert store(project.pk, [new(ada), new(ada)]) == 1

    assert InboxItem.objects.filter(contact=ada).count() == 1


def test_a_storing_that_is_rolled_back_leaves_nothing_and_does_not_ring(
    project: Project, heard: Any
) -> None:
    ada = make_contact(project, external_id="ada")

    with pytest.raises(RuntimeError), transaction.atomic():
        store(project.pk, [new(ada)])
        raise RuntimeError("the process dies here")

    assert not InboxItem.objects.exists()
    assert not InboxText.objects.exists()
    assert heard() == []


def test_suppressed_people_strangers_and_the_erased_get_none(project: Project) -> None:
    ada, ben, gone = (make_contact(project, external_id=name) for name in ("ada", "ben", "gone"))
    stranger = make_contact(make_project(), external_id="ada")
    suppress(project, ["ben"], reason="", by="user:op", now=timezone.now())
    of_gone = new(gone)
    gone.delete()

    assert store(project.pk, [new(ada), new(ben), of_gone, new(stranger)]) == 1

    assert InboxItem.objects.get().contact == ada


def test_what_was_personal_goes_with_the_person_and_what_is_shared_stays(project: Project) -> None:
    ada, ben = (make_contact(project, external_id=name) for name in ("ada", "ben"))
    store(project.pk, [new(ada, "own", content={"title": "Hello Ada"}, article="Of Ada")])
    store(project.pk, [new(ada), new(ben)])

    # As code that does not know of inboxes erases people.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM notifications_contact WHERE id = %s", [ada.pk])

    assert InboxItem.objects.get().contact == ben
    assert InboxText.objects.get().content == HELLO


def test_everything_goes_with_the_project(project: Project) -> None:
    store(project.pk, [new(make_contact(project, external_id="ada"))])

    project.delete()

    assert not InboxItem.objects.exists()
    assert not InboxText.objects.exists()


def test_what_was_stored_is_kept_with_its_expiry_and_category(project: Project) -> None:
    ada, until = make_contact(project, external_id="ada"), timezone.now() + timedelta(days=3)

    store(project.pk, [new(ada, article="Long.", category="offers", expires_at=until)])

    item = InboxItem.objects.get()
    assert (item.category, item.expires_at, item.text.article) == ("offers", until, "Long.")
    assert item.project == project
    assert (item.seen_at, item.read_at, item.archived_at) == (None, None, None)


def test_the_doorbell_rings_for_all_in_messages_of_a_thousand(
    project: Project, heard: Any, django_capture_on_commit_callbacks: Any
) -> None:
    everybody = people(project, 1_001)

    with django_capture_on_commit_callbacks(execute=True):
        store(project.pk, [new(person) for person in everybody])

    rings = heard()
    assert [len(ring) for ring in rings] == [1_000, 1]
    assert sorted(one for ring in rings for one in ring) == sorted(
        person.pk for person in everybody
    )


def test_without_redis_the_rows_are_there_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks: Any,
) -> None:  # fmt: skip
    nobody = redis.Redis.from_url("redis://127.0.0.1:1")
    monkeypatch.setattr(doorbell, "_client", lambda: nobody)
    ada = make_contact(project, external_id="ada")

    with django_capture_on_commit_callbacks(execute=True):
        store(project.pk, [new(ada)])

    assert InboxItem.objects.filter(contact=ada).exists()
    assert "The doorbell of the inbox is silent" in caplog.text
    doorbell._RedisPause.until = 0.0


# --- Removing -------------------------------------------------------------------------------------


def aged(person: Contact, reference: str, days: float, **other: Any) -> None:
    store(person.project_id, [new(person, reference, content={"title": reference}, **other)])
    at = timezone.now() - timedelta(days=days)
    InboxItem.objects.filter(contact=person, reference=reference).update(created_at=at)
    InboxText.objects.filter(content__title=reference).update(created_at=at)


def left() -> list[str]:
    titles = InboxText.objects.order_by("pk").values_list("content__title", flat=True)
    assert InboxItem.objects.count() == len(titles)
    return list(titles)


def test_items_go_after_the_days_of_their_project_and_their_texts_with_them(
    project: Project,
) -> None:
    usual, other = make_contact(project), make_contact(make_project())
    Retention.objects.create(project=other.project, kind="inbox", days=10)
    for person, name in ((usual, "usual"), (other, "other")):
        for days in (1, 12, 92):
            aged(person, f"{name} {days}", days)

    tasks.tidy()

    assert left() == ["usual 1", "usual 12", "other 1"]


def test_an_item_whose_own_end_has_come_goes_and_no_other(project: Project) -> None:
    ada, now = make_contact(project), timezone.now()
    Retention.objects.create(project=project, kind="inbox", days=None)
    aged(ada, "over", 1, expires_at=now - timedelta(seconds=1))
    aged(ada, "lasts", 400, expires_at=now + timedelta(days=1))

    tasks.tidy()

    assert left() == ["lasts"]


def test_a_text_that_two_left_to_each_other_goes_with_the_days(project: Project) -> None:
    text = InboxText.objects.create(project=project, content={"title": "Nobody's"})
    InboxText.objects.update(created_at=timezone.now() - timedelta(days=92))

    tasks.tidy()

    assert not InboxText.objects.filter(pk=text.pk).exists()


def test_the_page_of_retention_tells_how_much_inboxes_hold_and_asks_before_it_removes(
    project: Project,
) -> None:
    ada, operator = make_contact(project), Desk(logged_in(Role.OPERATOR))
    for days in (1, 12):
        aged(ada, f"{days}", days)

    assert "Kept 90 days There is 2 items Removed next" in operator.open("retention", project.pk)
    asked = text_of(operator.post("retention", project.pk, kind="inbox", days="10"))
    assert "Within 10 minutes this removes 1 item. There is no way back." in asked
    operator.post("retention", project.pk, kind="inbox", days="10", confirmed="yes")
    tasks.tidy()

    assert left() == ["1"]
