"""Idempotency-Key: asked again, the same is answered and nothing is done twice."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connections, transaction

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.api.base.idempotency import SAID_AGAIN
from notifications.people.project import Project
from notifications.requests import idempotency
from notifications.requests.idempotency import Answer, IdempotencyKey, once
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_contact, make_project, make_run

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


def launch(caller: Caller, campaign: Campaign, key: str = "k1", body: Any = None) -> Any:
    return caller.post(f"campaigns/{campaign.pk}/launch", body, Idempotency_Key=key)


def test_the_same_key_replays_the_answer_word_for_word(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    first = launch(alice, campaign)
    Run.objects.update(state="cancelled")  # the answer is the old one, not the state of today
    again = launch(alice, campaign)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.content == first.content
    assert "Idempotent-Replayed" not in first
    assert again["Idempotent-Replayed"] == "true"
    assert campaign.runs.count() == 1


def test_an_empty_body_and_an_empty_object_are_the_same_request(
    alice: Caller, ours: Project
) -> None:
    campaign = make_campaign(ours)
    assert launch(alice, campaign).content == launch(alice, campaign, body={}).content


def test_the_same_key_with_another_request_is_refused(alice: Caller, ours: Project) -> None:
    one, two = make_campaign(ours), make_campaign(ours)
    assert launch(alice, one).status_code == 202
    assert launch(alice, two).status_code == 422
    assert not two.runs.exists()


def test_a_long_number_is_part_of_the_request_to_its_last_digit(alice: Caller) -> None:
    def write(number: str, key: str) -> Any:
        row = f'{{"external_id": "u1", "attributes": {{"n": {number}, "m": 1}}}}'
        return alice.post("contacts/bulk", f'{{"contacts": [{row}]}}'.encode(), Idempotency_Key=key)

    for key, number in (("whole", "9" * 30), ("fraction", "0." + "1" * 40)):
        first = write(number, key)
        assert (first.status_code, write(number, key).content) == (200, first.content)
        assert write(f"{number[:-1]}2", key).status_code == 422


def test_a_key_belongs_to_its_project(alice: Caller, charlie: Caller) -> None:
    assert launch(alice, make_campaign(alice.project)).status_code == 202
    theirs = launch(charlie, make_campaign(charlie.project))
    assert theirs.status_code == 202
    assert "Idempotent-Replayed" not in theirs


def test_a_refusal_is_not_kept_so_that_mending_and_asking_again_works(
    alice: Caller, ours: Project
) -> None:
    campaign = make_campaign(ours)
    Campaign.objects.update(schedule_kind="at", at=datetime(2020, 1, 1, tzinfo=UTC))
    assert launch(alice, campaign).status_code == 422
    assert not IdempotencyKey.objects.exists()
    Campaign.objects.update(schedule_kind="now", at=None)
    assert launch(alice, campaign).status_code == 202


def test_a_draft_is_made_once_whatever_the_order_of_its_fields(
    alice: Caller, ours: Project
) -> None:
    likeness = make_campaign(ours)
    body = {"name": "A", "audience": likeness.audience_id, "template": likeness.template_id}
    first = alice.post("campaigns", body, Idempotency_Key="k1")
    again = alice.post("campaigns", dict(reversed(body.items())), Idempotency_Key="k1")
    assert again.content == first.content
    other = alice.post("campaigns", {**body, "name": "B"}, Idempotency_Key="k1")
    assert other.status_code == 422
    assert Campaign.objects.count() == 2


def test_a_pause_asked_twice_pauses_once(alice: Caller, ours: Project) -> None:
    run = make_run(ours, advanced=False)
    answers = [
        alice.post(f"runs/{run.pk}/pause", Idempotency_Key="k1").status_code for _ in range(2)
    ]
    assert answers == [200, 200]


@pytest.mark.parametrize("key", ["", "x" * 256, "naïve", "tab\there"])
def test_a_key_that_cannot_be_one_is_refused(alice: Caller, ours: Project, key: str) -> None:
    answer = launch(alice, make_campaign(ours), key)
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["Idempotency-Key"])
    assert not Run.objects.exists()


def test_a_key_is_kept_thirty_days(alice: Caller, ours: Project) -> None:
    campaign, other = make_campaign(ours), make_campaign(ours)
    with time_machine.travel(NOON, tick=False) as clock:
        launch(alice, campaign)
        clock.shift(timedelta(days=30))
        assert launch(alice, campaign).status_code == 202
        clock.shift(timedelta(seconds=1))
        assert launch(alice, campaign).status_code == 409  # forgotten: already launched
        launch(alice, other, "k2")
    assert IdempotencyKey.objects.get().key == "k2"


@pytest.mark.django_db(transaction=True)
def test_while_the_first_is_at_work_the_second_is_told_so() -> None:
    project = make_project()
    at_work, may_finish = threading.Event(), threading.Event()

    def work() -> Answer:
        at_work.set()
        assert may_finish.wait(10)
        return Answer(202, "{}")

    def first() -> Answer:
        try:
            return once(project, "k1", b"launch", work, now=NOON)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(first)
        assert at_work.wait(10)
        with pytest.raises(IdempotencyKey.InFlight):
            once(project, "k1", b"launch", work, now=NOON)
        may_finish.set()
        assert answer.result(10).status == 202
    assert once(project, "k1", b"launch", work, now=NOON).replayed


@pytest.mark.django_db(transaction=True)
def test_the_door_says_409_while_the_first_is_at_work() -> None:
    project = make_project()
    alice, campaign = Caller(project), make_campaign(project)
    with transaction.atomic():
        assert idempotency._locked(project, "k1")
        with ThreadPoolExecutor(1) as thread:
            refused = thread.submit(_in_a_thread, alice, campaign).result(10)
    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:carillon:in-flight"
    assert refused["Retry-After"] == "2"
    assert not Run.objects.exists()


def _in_a_thread(caller: Caller, campaign: Campaign) -> Any:
    try:
        return launch(caller, campaign)
    finally:
        connections.close_all()


def test_work_that_fails_leaves_no_key(ours: Project) -> None:
    def work() -> Answer:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        once(ours, "k1", b"launch", work, now=NOON)
    assert not IdempotencyKey.objects.exists()


def bodies_of(project: Project) -> dict[str, Any]:
    """What each address that makes something is sent."""
    contact = make_contact(project, external_id="u1")
    likeness = make_campaign(project)
    return {
        "contacts/bulk": {"contacts": [{"external_id": "u2"}]},
        "devices": {"contact": contact.external_id, "token": "t:1", "platform": "web"},
        "audiences": {"name": "All", "rules": {"all": []}},
        "templates": {"name": "Hello", "title": "Hello", "body": "You"},
        "campaigns": {
            "name": "A", "audience": likeness.audience_id, "template": likeness.template_id
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    "path", ["contacts/bulk", "devices", "audiences", "templates", "campaigns"]
)
def test_whatever_makes_something_makes_it_once(alice: Caller, ours: Project, path: str) -> None:
    body = bodies_of(ours)[path]
    first = alice.post(path, body, Idempotency_Key="k1")
    assert first.status_code in (200, 201), first.content
    again = alice.post(path, body, Idempotency_Key="k1")
    assert again["Idempotent-Replayed"] == "true"
    assert (again.status_code, again.content) == (first.status_code, first.content)
    other = alice.post(path, {**body, "more": 1}, Idempotency_Key="k1")
    assert (other.status_code, other.json()["type"]) == (422, "urn:carillon:key-reused")


def test_where_it_was_made_and_its_tag_are_said_again(alice: Caller) -> None:
    body = {"name": "A", "rules": {"field": "attributes.n", "op": "gt", "value": 1e2}}
    first = alice.post("audiences", body, Idempotency_Key="k1")
    again = alice.post("audiences", body, Host="localhost", Idempotency_Key="k1")
    assert "Idempotent-Replayed" in again
    assert [again[name] for name in SAID_AGAIN] == [first[name] for name in SAID_AGAIN]


def test_an_answer_kept_without_headers_says_where_it_stands(alice: Caller) -> None:
    first = alice.post("audiences", {"name": "A", "rules": {"all": []}}, Idempotency_Key="k1")
    IdempotencyKey.objects.update(headers={})
    again = alice.post("audiences", {"name": "A", "rules": {"all": []}}, Idempotency_Key="k1")
    assert [again[name] for name in SAID_AGAIN] == [first[name] for name in SAID_AGAIN]


@pytest.mark.django_db(transaction=True)
def test_a_call_does_not_wait_for_another_one_that_forgets_the_same_old_keys() -> None:
    project = make_project()
    long_ago = NOON - timedelta(days=31)
    for number in range(3):
        once(project, f"old {number}", b"", lambda: Answer(200, "{}"), now=long_ago)

    def forgetting_meanwhile() -> Answer:
        def other() -> Answer:
            try:
                return once(project, "k2", b"", lambda: Answer(202, "{}"), now=NOON)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(other).result()

    assert once(project, "k1", b"", forgetting_meanwhile, now=NOON).status == 202
    kept = IdempotencyKey.objects.order_by("key").values_list("key", flat=True)
    assert list(kept) == ["k1", "k2"]
