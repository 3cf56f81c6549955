"""A worker reads in parts; it may die between any two, or meet another, and counts nobody twice."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from campaigns import control, tasks
from campaigns.audiences.audience import Member
from campaigns.text_check import counting, longest_values, model, start, worker
from campaigns.text_check.model import TextCheck, claim
from campaigns.text_check.start import Refused
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.postgres.budget import TooSlow
from tests.given.builders import make_audience, make_campaign, make_project
from tests.text_check.reading import asked, make_reader, one, read

pytestmark = pytest.mark.django_db
PEOPLE = 25
LACKS = {"title": "See you in {{ city }}"}


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST", "LEAST", "MOST"):
        monkeypatch.setattr(worker, name, 4)


def make_readers(project: Project) -> None:
    for number in range(PEOPLE):
        make_reader(project, f"u{number:02}")


def whole(check: TextCheck) -> dict[str, Any]:
    check.refresh_from_db()
    assert check.state == "finished", check.problem
    report: dict[str, Any] = dict(check.report or {})
    assert report["totals"]["devices"] == one(report, "missing")["devices"] == PEOPLE
    return report


def step(check: TextCheck) -> None:
    """Only one part, as a worker that is killed after it leaves it."""
    mine = claim(check.pk, now=clock.now())
    assert mine is not None
    worker.Reading(mine).step()


def lapse(check: TextCheck) -> None:
    TextCheck.objects.filter(pk=check.pk).update(leased_until=clock.now() - timedelta(seconds=1))


def test_parts_add_up_to_everybody_once(project: Project, few_at_once: None) -> None:
    make_readers(project)
    campaign = make_campaign(project, template=LACKS)
    report = read(campaign)
    assert report["totals"]["devices"] == one(report, "missing")["devices"] == PEOPLE


def test_the_longest_of_all_parts_is_found_wherever_it_stands(
    project: Project, few_at_once: None
) -> None:
    for number in range(PEOPLE):
        make_reader(project, f"u{number:02}", name="x" * (40 if number == 2 else number))
    (text,) = read(make_campaign(project, template={"title": "{{ name }}"}))["texts"]
    size, person = text["platforms"][0]["longest"]["title"]
    assert (size, Contact.objects.get(pk=person).external_id) == (40, "u02")


def test_of_a_worker_that_died_another_goes_on_and_nobody_is_counted_twice(
    project: Project, few_at_once: None
) -> None:
    make_readers(project)
    check = asked(make_campaign(project, template=LACKS))
    for _ in range(4):
        step(check)
        tasks.check_texts(check.pk)  # it is the dead one's still
        lapse(check)
    check.refresh_from_db()
    assert 0 < check.devices_read < PEOPLE and 0 < check.percent < 100
    assert model.unfinished() == [check.pk]
    tasks.check_texts(check.pk)
    whole(check)
    assert model.unfinished() == []


def test_who_lost_the_lease_writes_nothing_more(project: Project, few_at_once: None) -> None:
    make_readers(project)
    check = asked(make_campaign(project, template=LACKS))
    step(check)
    slow = TextCheck.objects.select_related("project", "campaign").get(pk=check.pk)
    lapse(check)
    step(check)
    with pytest.raises(model.Fenced):
        worker.Reading(slow).step()
    lapse(check)
    tasks.check_texts(check.pk)
    whole(check)


def test_a_cancelled_check_is_not_read_further_and_the_last_report_stays(
    project: Project, few_at_once: None
) -> None:
    make_readers(project)
    campaign = make_campaign(project, template=LACKS)
    read(campaign)
    check = asked(campaign)
    step(check)
    lapse(check)
    step(check)
    reading = TextCheck.objects.select_related("project", "campaign").get(pk=check.pk)
    assert control.cancel_text_check(campaign, by="user:alice", now=timezone.now())
    with pytest.raises(model.Fenced):
        worker.Reading(reading).step()
    tasks.check_texts(check.pk)
    assert model.unfinished() == []
    assert str(model.newest(campaign)[0].state) == "cancelled"
    kept = model.newest_whole(campaign)[0]
    assert kept.report is not None and kept.report["totals"]["devices"] == PEOPLE
    assert not control.cancel_text_check(campaign, by="user:alice", now=timezone.now())


def test_of_one_campaign_two_are_never_under_way(project: Project) -> None:
    campaign = make_campaign(project, template=LACKS)
    check = asked(campaign)
    with pytest.raises(Refused, match="being checked already"):
        asked(campaign)
    with pytest.raises(IntegrityError), transaction.atomic():
        check.pk = None
        check.save()
    assert TextCheck.objects.count() == 1


def test_a_project_has_three_under_way_and_others_are_not_held_up(project: Project) -> None:
    for _ in range(start.MAX_OF_PROJECT):
        asked(make_campaign(project, template=LACKS))
    with pytest.raises(Refused, match="3 text checks of this project are under way"):
        asked(make_campaign(project, template=LACKS))
    asked(make_campaign(make_project(), template=LACKS))


def test_a_new_report_takes_the_place_of_the_last(project: Project) -> None:
    make_readers(project)
    campaign = make_campaign(project, template=LACKS)
    read(campaign)
    read(campaign)
    assert TextCheck.objects.count() == 1


def test_a_deleted_campaign_takes_its_checks_along(project: Project) -> None:
    campaign = make_campaign(project, template=LACKS)
    read(campaign)
    campaign.delete()
    assert not TextCheck.objects.exists()


def test_a_text_that_is_not_in_order_is_not_read(project: Project) -> None:
    campaign = make_campaign(project, template={"title": "x", "data": {"from": "us"}})
    with pytest.raises(Refused, match="from: this key is reserved by FCM"):
        asked(campaign)
    assert not TextCheck.objects.exists()


def test_what_is_read_is_the_text_of_the_moment_of_asking(project: Project) -> None:
    make_reader(project, "bob")
    campaign = make_campaign(project, template=LACKS)
    check = asked(campaign)
    campaign.template.title = "Hello"
    campaign.template.save()
    tasks.check_texts(check.pk)
    check.refresh_from_db()
    assert one(check.report or {}, "missing")["devices"] == 1


def test_without_a_list_that_its_rules_ask_about_it_fails_and_says_why(project: Project) -> None:
    device = make_reader(project, "bob")
    listed = make_audience(project, kind="list")
    Member.objects.create(audience=listed, contact=device.contact)
    check = asked(make_campaign(project, template=LACKS, audience=listed))
    Member.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE campaigns_audience SET kind = 'rules' WHERE id = %s", [listed.pk])
    tasks.check_texts(check.pk)
    check.refresh_from_db()
    assert check.state == "failed"
    assert check.problem == "A list that its rules ask about is gone."
    assert model.unfinished() == []


def test_a_part_that_takes_too_long_is_tried_with_fewer_and_then_given_up(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_readers(project)
    count, tried = counting.count, []

    def slow(plan: Any, sheets: Any, ids: range) -> Any:
        tried.append(ids)
        if len(tried) < 3:
            raise TooSlow
        return count(plan, sheets, ids)

    monkeypatch.setattr(counting, "count", slow)
    check = asked(make_campaign(project, template=LACKS))
    tasks.check_texts(check.pk)
    whole(check)
    assert len(tried) == 3

    def never(*_: Any) -> Any:
        raise TooSlow

    monkeypatch.setattr(counting, "count", never)
    check = asked(check.campaign)
    tasks.check_texts(check.pk)
    check.refresh_from_db()
    assert (check.state, check.problem[:27]) == ("failed", "These rules take too long t")


def test_whatever_breaks_it_is_said_and_not_tried_for_ever(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(longest_values, "rendered", lambda *_: 1 / 0)
    make_readers(project)
    check = asked(make_campaign(project, template=LACKS))
    tasks.check_texts(check.pk)
    check.refresh_from_db()
    assert (check.state, check.problem) == ("failed", "ZeroDivisionError: division by zero")


def test_nothing_of_what_people_are_called_is_kept(project: Project) -> None:
    make_reader(project, "ada-of-shop", first_name="Ada Lovelace")
    campaign = make_campaign(project, template={"title": "{{ first_name }} {{ city }}"})
    read(campaign)
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(t)::text FROM campaigns_textcheck t")
        (kept,) = cursor.fetchone()
    assert "Ada" not in kept and "ada-of-shop" not in kept


def test_an_audience_of_nobody_is_read_at_once(project: Project) -> None:
    report = read(make_campaign(project, template=LACKS))
    assert report["totals"]["devices"] == 0 and report["texts"] == []


def test_at_most_so_many_people_are_those_that_a_launch_draws(
    project: Project, few_at_once: None
) -> None:
    make_readers(project)
    campaign = make_campaign(project, template=LACKS)
    campaign.audience.rules = {"all": [{"field": "people", "op": "lte", "value": {"most": 7}}]}
    campaign.audience.save()
    assert read(campaign)["totals"]["devices"] == 7
