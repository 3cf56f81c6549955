"""What a person said: the newest word counts, in whatever order words arrive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import Error, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from notifications.people.consent.change import ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


def said(project: Project, *words: ConsentAnswer, now: datetime = LATER, **how: Any) -> int:
    return record_answers(project, words, **{"source": "api", "by": "key:abc", **how}, now=now)


def about(contact: Contact) -> tuple[bool, datetime | None, str]:
    contact.refresh_from_db()
    return contact.subscribed, contact.subscribed_at, contact.subscribed_from


def no(contact: Contact, category: str = EVERYTHING, at: datetime | None = None) -> ConsentAnswer:
    return ConsentAnswer(contact.external_id, category, False, at)


def yes(contact: Contact, category: str = EVERYTHING, at: datetime | None = None) -> ConsentAnswer:
    return ConsentAnswer(contact.external_id, category, True, at)


def test_a_person_nobody_asked_is_subscribed_and_has_no_time(project: Project) -> None:
    assert about(make_contact(project)) == (True, None, "")


def test_an_answer_is_stored_with_its_time_and_source_and_in_the_history(project: Project) -> None:
    contact = make_contact(project)
    assert said(project, no(contact, at=NOON), no(contact, "offers")) == 2
    assert about(contact) == (False, NOON, "api")
    offers = {"wanted": False, "at": "2026-11-22T13:00:00.000000Z", "from": "api"}
    assert contact.preferences == {"offers": offers}
    rows = ConsentChange.objects.order_by("id").values_list("category", "wanted", "at", "by")
    assert list(rows) == [("", False, NOON, "key:abc"), ("offers", False, LATER, "key:abc")]


def test_an_older_answer_changes_nothing(project: Project) -> None:
    contact = make_contact(project)
    said(project, no(contact, at=NOON))
    before = Contact.objects.values().get()
    assert said(project, yes(contact, at=NOON - timedelta(seconds=1))) == 0
    assert Contact.objects.values().get() == before
    assert ConsentChange.objects.count() == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_no_wins_over_a_yes_of_the_same_instant(project: Project, first: bool) -> None:
    contact = make_contact(project)
    for wanted in (first, not first):
        said(project, ConsentAnswer(contact.external_id, EVERYTHING, wanted, NOON))
    assert about(contact)[0] is False


def test_the_same_answer_again_moves_the_time_and_adds_no_history(project: Project) -> None:
    contact = make_contact(project)
    said(project, no(contact, at=NOON))
    assert said(project, no(contact, at=LATER)) == 0
    assert about(contact)[:2] == (False, LATER)
    assert ConsentChange.objects.count() == 1


def test_an_answer_from_tomorrow_does_not_last_for_ever(project: Project) -> None:
    contact = make_contact(project)
    said(project, yes(contact, at=LATER + timedelta(days=1)), now=LATER)
    said(project, no(contact), now=LATER)  # by another server, whose clock is behind
    assert about(contact)[0] is False


@pytest.mark.parametrize("at", [None, LATER + timedelta(hours=1)])
def test_a_careful_yes_without_a_time_has_no_effect(project: Project, at: datetime | None) -> None:
    declined, agreed, silent = (make_contact(project) for _ in range(3))
    said(project, no(declined, at=NOON), yes(agreed, at=NOON))
    careful = [yes(contact, at=at) for contact in (declined, agreed, silent)]
    assert said(project, *careful, careful=True) == 0
    assert [about(one)[:2] for one in (declined, agreed, silent)] == [
        (False, NOON), (True, NOON), (True, None),
    ]  # fmt: skip
    assert said(project, yes(declined)) == 1
    assert about(declined)[0] is True


def test_an_earlier_no_that_arrives_after_a_careful_yes_counts(project: Project) -> None:
    contact = make_contact(project)
    said(project, yes(contact), careful=True)
    said(project, no(contact, at=NOON))
    assert about(contact)[:2] == (False, NOON)


def test_a_careful_yes_beside_an_earlier_no_of_the_same_call_does_not_count(
    project: Project,
) -> None:
    contact = make_contact(project)
    said(project, no(contact, at=NOON), yes(contact), careful=True)
    assert about(contact)[:2] == (False, NOON)


def test_a_yes_whose_call_began_before_a_no_does_not_take_it_back(project: Project) -> None:
    contact = make_contact(project)
    said(project, no(contact), now=LATER)
    assert said(project, yes(contact), now=NOON) == 0
    assert about(contact)[:2] == (False, LATER)


def test_a_no_counts_though_a_later_clock_wrote_the_yes(project: Project) -> None:
    contact = make_contact(project)
    said(project, yes(contact), now=LATER)
    assert said(project, no(contact), now=NOON) == 1
    assert about(contact)[0] is False


def test_people_of_another_project_are_not_changed(project: Project) -> None:
    stranger = make_contact(make_project(), external_id="ada")
    ours = make_contact(project, external_id="ada")
    assert said(project, no(ours), ConsentAnswer("nobody", EVERYTHING, False)) == 1
    assert (about(ours)[0], about(stranger)[0]) == (False, True)


def test_the_history_cannot_be_changed_and_goes_with_the_person(project: Project) -> None:
    contact = make_contact(project)
    said(project, no(contact))
    with pytest.raises(Error), transaction.atomic():
        ConsentChange.objects.update(wanted=True)
    # As code that does not know the history erases somebody.
    Contact.objects.filter(pk=contact.pk)._raw_delete("default")
    assert not ConsentChange.objects.exists()


MOMENTS = st.integers(0, 3).map(lambda hours: NOON + timedelta(hours=hours))
WORDS = st.lists(
    st.tuples(st.sampled_from(["", "offers", "news"]), st.booleans(), MOMENTS), max_size=6
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS, data=st.data())
def test_answers_in_any_order_give_the_same_result(
    project: Project, words: list[tuple[str, bool, datetime]], data: st.DataObject
) -> None:
    one, other, at_once = (make_contact(project) for _ in range(3))
    now = NOON + timedelta(days=1)
    for word in words:
        said(project, ConsentAnswer(one.external_id, *word), now=now)
    for word in data.draw(st.permutations(words)):
        said(project, ConsentAnswer(other.external_id, *word), now=now)
    said(project, *(ConsentAnswer(at_once.external_id, *word) for word in words), now=now)
    assert about(one) == about(other) == about(at_once)
    assert one.preferences == other.preferences == at_once.preferences
    for contact in (one, other, at_once):
        last = contact.consent_changes.filter(category="").order_by("-id").first()
        assert contact.subscribed is (last is None or last.wanted)


Answer = tuple[bool, datetime | None]
CALLS = st.lists(
    st.tuples(st.booleans(), st.none() | MOMENTS, MOMENTS, st.booleans()), min_size=1, max_size=6
)


def after(known: Answer, wanted: bool, at: datetime | None, now: datetime, careful: bool) -> Answer:
    """What is known of somebody after one more word, as this project promises it."""
    since = known[1]
    if careful and wanted and (at is None or at > now):
        return known  # it has no time of its own
    if at is None and not wanted and since is not None and since >= now:
        return False, since + timedelta(microseconds=1)  # a clock that is behind keeps nobody in
    moment = min(at or now, now)
    newer = since is None or moment > since or (moment == since and not wanted)
    return (wanted, moment) if newer else known


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(calls=CALLS)
def test_answers_of_any_clock_with_or_without_a_time_end_as_promised(
    project: Project, calls: list[tuple[bool, datetime | None, datetime, bool]]
) -> None:
    contact = make_contact(project)
    expected: Answer = (True, None)
    for wanted, at, now, careful in calls:
        word = ConsentAnswer(contact.external_id, EVERYTHING, wanted, at)
        said(project, word, now=now, careful=careful)
        expected = after(expected, wanted, at, now, careful)
        assert about(contact)[:2] == expected
        assert wanted or at or not contact.subscribed, "a no of just now counts, whatever the clock"
