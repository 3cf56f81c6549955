"""What became of a run on the phones, for programs: each share with of how many it is one."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns.engagement import converting
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events import writing
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import ended


@pytest.fixture
def run(ours: Project) -> Run:
    """Of four devices; two of these opened it, and one bought twice."""
    for name, platform in (("ada", "ios"), ("bob", "web"), ("eve", "web"), ("joe", "web")):
        make_device(make_contact(ours, external_id=name), platform=platform)
    run = make_run(ours, goal_event="bought", goal_value="price")
    who = dict(Recipient.objects.filter(run_id=run.pk).values_list("contact_id", "seq"))
    seq = {one.external_id: who[one.pk] for one in Contact.objects.filter(project=ours)}
    keep(Report(run.pk, seq[name], Event.OPENED, None) for name in ("ada", "bob"))
    keep([Report(run.pk, seq["eve"], Event.DISMISSED, None)])
    bought = [
        writing.Event("ada", "bought", timezone.now(), {"price": price}) for price in (5, 7.5)
    ]
    writing.write(ours.pk, bought)
    return run


def told(call: Caller, run: Run, by: str = "") -> Any:
    reply = call.get(f"runs/{run.pk}/funnel{by}")
    assert reply.status_code == 200, reply.content
    return reply.json()


def test_shares_are_of_those_who_can_tell(alice: Caller, run: Run) -> None:
    ended(run)
    said = told(alice, run)
    assert (said["planned"], said["accepted"], said["may_have"]) == (4, 4, 4)
    assert said["counted"] is True
    opened = {"count": 2, "can_tell": 2, "share": 1.0, "coverage": 0.5}
    nobody = {"count": 0, "can_tell": 0, "share": None, "coverage": 0.0}
    assert said["steps"] == [
        {"step": "received", **nobody},
        {"step": "displayed", **nobody},
        {"step": "opened", **opened},
    ]
    assert said["beside"] == {"dismissed": 1, "action_1": 0, "action_2": 0, "action_3": 0}
    assert said["goal"] == {
        "event": "bought", "after": "opened", "within_seconds": 86_400, "count": 1, "can_tell": 2,
        "share": 0.5, "coverage": 0.5, "times": 2, "value_of": "price", "value": 12.5,
    }  # fmt: skip
    assert said["groups"] is None


def test_a_goal_of_receiving_is_of_all_who_can_tell_anything(alice: Caller, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(goal_after="received")
    converting.count_again(run, range(1, 5))
    ended(run)
    goal = told(alice, run)["goal"]
    assert (goal["count"], goal["can_tell"], goal["share"]) == (1, 2, 0.5)


def test_while_a_run_goes_on_counts_are_told_and_shares_are_not(alice: Caller, run: Run) -> None:
    said = told(alice, run, "?by=platform")
    assert said["counted"] is False and said["groups"] is None
    assert said["steps"][2] == {
        "step": "opened", "count": 2, "can_tell": None, "share": None, "coverage": None,
    }  # fmt: skip
    assert (said["goal"]["count"], said["goal"]["share"]) == (1, None)


def test_each_group_is_told_apart(alice: Caller, run: Run) -> None:
    ended(run)
    web, ios = told(alice, run, "?by=platform")["groups"]
    assert (web["value"], web["may_have"], ios["value"], ios["may_have"]) == ("web", 3, "ios", 1)
    assert web["steps"][2]["count"] == ios["steps"][2]["count"] == 1
    assert (web["goal"]["count"], ios["goal"]["count"]) == (0, 1)
    assert (web["goal"]["value"], ios["goal"]["value"]) == (0, 12.5)


def test_a_run_without_a_goal_has_none(alice: Caller, ours: Project) -> None:
    make_people(ours, 1)
    assert told(alice, make_run(ours))["goal"] is None


def test_a_funnel_by_what_is_not_kept_is_refused_with_what_is(alice: Caller, run: Run) -> None:
    reply = alice.get(f"runs/{run.pk}/funnel?by=shoe_size")
    assert reply.status_code == 400 and fields_at_fault(reply) == ["by"]


def test_the_funnel_of_another_project_is_not_found(charlie: Caller, run: Run) -> None:
    assert charlie.get(f"runs/{run.pk}/funnel").status_code == 404
