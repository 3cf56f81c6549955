"""An import never turns a no into a yes without a later time or an explicit tick."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from notifications.people.consent.category import Category
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project
from tests.given.importing import bring_in, check, mapped, merge, reasons, upload

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def shop(db: None) -> Project:
    project = make_project()
    Category.objects.create(project=project, slug="offers", name="Offers")
    make_contact(project, external_id="no", subscribed=False, subscribed_at=MARCH)
    make_contact(project, external_id="yes", subscribed=True, subscribed_at=MARCH)
    return project


def answers(project: Project) -> dict[str, bool]:
    return dict(Contact.objects.filter(project=project).values_list("external_id", "subscribed"))


def test_a_file_without_an_answer_column_changes_no_answer(shop: Project) -> None:
    bring_in(shop, "id,city\nno,Seoul\nyes,Seoul\n", mode="replace")
    assert answers(shop) == {"no": False, "yes": True}
    assert not ConsentChange.objects.exists()


def test_a_yes_without_a_time_does_not_overrule_a_no(shop: Project) -> None:
    one = upload(shop, "id,subscribed\nno,yes\nyes,no\nnew,no\nsilent,\n")
    check(mapped(one))
    counts = {"created": 2, "updated": 1, "unchanged": 1, "moved": 0}
    turned = {"unsubscribed": 2, "resubscribed": 0, "left_category": 0, "back_in_category": 0}
    assert one.foreseen == {**counts, **turned}
    merge(one)
    assert one.counts == one.foreseen
    assert answers(shop) == {"no": False, "yes": False, "new": False, "silent": True}
    changes = ConsentChange.objects.order_by("contact__external_id")
    assert [(each.contact.external_id, each.wanted, each.source) for each in changes] == [
        ("new", False, "import"), ("yes", False, "import"),
    ]  # fmt: skip


def test_answers_about_a_category_are_counted_by_person(shop: Project) -> None:
    Category.objects.create(project=shop, slug="news", name="News")
    one = upload(
        shop, "id,category:offers,category:news\nno,no,no\nyes,no,\nnew,no,yes\nsilent,yes,\n"
    )
    check(mapped(one))
    merge(one)
    assert one.counts == one.foreseen
    turned = {name: one.counts[name] for name in ("unsubscribed", "left_category")}
    assert turned == {"unsubscribed": 0, "left_category": 3}

    again = bring_in(shop, "id,category:offers\nyes,no\nno,yes\n", resubscribe=True)
    assert (again.counts["left_category"], again.counts["back_in_category"]) == (0, 1)


def test_a_tick_lets_the_file_overrule_a_no(shop: Project) -> None:
    one = bring_in(shop, "id,subscribed\nno,yes\n", resubscribe=True)
    assert answers(shop)["no"] is True
    assert (one.counts["unsubscribed"], one.counts["resubscribed"]) == (0, 1)


def test_a_later_yes_overrules_a_no_and_an_earlier_one_does_not(shop: Project) -> None:
    head = "id,subscribed,subscribed_at\n"
    bring_in(shop, head + "no,yes,2026-02-01\nyes,no,2026-02-01\n")
    assert answers(shop) == {"no": False, "yes": True}
    bring_in(shop, head + "no,yes,2026-04-01T09:00:00+09:00\n")
    assert answers(shop)["no"] is True
    assert Contact.objects.get(external_id="no").subscribed_at == datetime(2026, 4, 1, tzinfo=UTC)


HEAD = "id,subscribed,subscribed_at\n"


def test_an_earlier_no_that_arrives_after_a_yes_without_a_time_counts(shop: Project) -> None:
    bring_in(shop, "id,subscribed\nsilent,yes\nyes,yes\n")
    april = MARCH + timedelta(days=31)
    noes = [ConsentAnswer(who, EVERYTHING, False, april) for who in ("silent", "yes")]
    record_answers(shop, noes, source="api", by="key:abc", now=timezone.now())
    assert answers(shop) == {"no": False, "yes": False, "silent": False}


def test_a_yes_without_a_time_beside_a_no_with_one_does_not_count(shop: Project) -> None:
    rows = "silent,no,2026-01-01T00:00:00Z\nsilent,yes,\nyes,no,2026-04-01\nyes,yes,\n"
    one = upload(shop, HEAD + rows)
    check(mapped(one))
    merge(one)
    assert one.counts == one.foreseen
    assert answers(shop) == {"no": False, "yes": False, "silent": False}


def test_a_yes_from_the_near_future_does_not_overrule_a_no(shop: Project) -> None:
    """A wrong clock, or a time of Seoul without its offset."""
    soon = timezone.now() + timedelta(hours=9)
    one = upload(shop, f"{HEAD}no,yes,{soon.isoformat()}\n")
    check(mapped(one))
    assert one.foreseen["unchanged"] == 1
    merge(one)
    assert one.counts == one.foreseen
    assert answers(shop)["no"] is False


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_row_with_a_time_more_than_a_day_ahead_is_refused(shop: Project, answer: str) -> None:
    far = (timezone.now() + timedelta(days=2)).isoformat()
    one = bring_in(shop, f"{HEAD}no,{answer},{far}\nyes,no,2026-04-01\n")
    column, reason = reasons(one)[2]
    assert (one.refused, column) == (1, "subscribed_at")
    assert "more than a day ahead" in reason and "when they said it" in reason
    assert Contact.objects.get(external_id="no").subscribed_at == MARCH
    assert answers(shop) == {"no": False, "yes": False}


def test_a_category_is_answered_by_its_column(shop: Project) -> None:
    one = bring_in(shop, "id,category:offers\nyes,no\nno,\n")
    preferences = Contact.objects.get(external_id="yes").preferences
    assert preferences["offers"]["wanted"] is False
    assert preferences["offers"]["from"] == "import"
    assert one.counts["updated"] == 1
    assert Contact.objects.get(external_id="no").preferences == {}
