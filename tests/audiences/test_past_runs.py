"""Rules on what people got: SQL, a freeze and the explanation agree with a few lines of Python."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.audiences import audience, reach, selection, why, words
from campaigns.audiences.behavior import past
from campaigns.audiences.resolving import covered_runs
from campaigns.audiences.resolving.part import answered
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.engagement.receipt import BY_NAME, Receipt, Reporter
from campaigns.engine import engine, forgetting
from campaigns.launch_check import warnings
from campaigns.runs import ledger
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.inbox.storing import New, store
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_run,
)

NOW = timezone.now()
ENDS = [
    ("accepted", ""),
    ("rejected", "unregistered"),
    ("skipped", "missing_value"),
    ("skipped", "expired"),
    ("unknown", "unanswered"),
    None,  # nobody has looked at it yet
]
MAY_HAVE = ("accepted", "unknown")
STEP_NAMES = ("received", "displayed", "opened")
# Whoever told of one of these counts as having told of the outcome.
ALSO = {
    "received": list(BY_NAME),
    "displayed": [name for name in BY_NAME if name != "received"],
    **{name: [name] for name in ("opened", "dismissed", "action_1", "action_2", "action_3")},
}


@dataclass
class Past:
    """A small world: who was in which run, and how it ended on each of their devices."""

    project: Project
    people: list[Contact]
    devices: dict[int, list[int]]
    campaign_of: dict[int, int] = field(default_factory=dict)
    days_ago: dict[int, int] = field(default_factory=dict)
    ends: dict[tuple[int, int], list[Any]] = field(default_factory=dict)  # of run and person
    told: set[tuple[int, int, str]] = field(default_factory=set)  # of run and device, and what
    known_to_tell: dict[int, int] = field(default_factory=dict)  # of a device: for how many days
    in_inbox: set[tuple[int, int]] = field(default_factory=set)  # of run and person

    def add_run(self, campaign_id: int, *, days_ago: int, ends: list[list[Any]]) -> int:
        """`ends`: of each person, of each device; nothing for who was not in it."""
        began = NOW - timedelta(days=days_ago)
        run = Run.objects.create(
            project=self.project, campaign_id=campaign_id, occurrence=f"day {days_ago}",
            state="finished", finished_at=began, started_at=began, scheduled_at=began, content={},
            rules={"all": []}, on_unknown="hold", ttl_seconds=60, max_lateness_seconds=60,
            launched_by="test", planned=0, people=0,
        )  # fmt: skip
        self._write(run, ends)
        self.campaign_of[run.pk], self.days_ago[run.pk] = campaign_id, days_ago
        return run.pk

    def _write(self, run: Run, ends: list[list[Any]]) -> None:
        for table in ("campaigns_recipient", "campaigns_delivery"):
            ledger.detached_partition(table, run.pk)
            ledger.attach_partition(table, run.pk)
        ledger.index_people("campaigns_recipient", run.pk)
        seq = 0
        for person, ended in zip(self.people, ends, strict=True):
            self.ends[run.pk, person.pk] = ended
            for device, end in zip(self.devices[person.pk], ended, strict=False):
                seq += 1
                key: dict[str, Any] = {"run_id": run.pk, "seq": seq, "device_id": device}
                Recipient.objects.create(**key, contact_id=person.pk)
                if end:
                    status, reason = end
                    Delivery.objects.create(**key, status=status, reason=reason, attempt=1, at=NOW)

    def tell(self, run: int, person: int, number: int, *names: str) -> None:
        """The phone with this number reports something; `run` and `person` by their place."""
        run, device = sorted(self.campaign_of)[run], self.devices[self.people[person].pk][number]
        seq = Recipient.objects.get(run_id=run, device_id=device).seq
        for name in names:
            Receipt.objects.create(run_id=run, seq=seq, event=BY_NAME[name])
            self.told.add((run, device, name))

    def keep_in_inbox(self, run: int, *people: int) -> None:
        """`run` and `people` by their place."""
        number, contacts = sorted(self.campaign_of)[run], [self.people[n].pk for n in people]
        store(self.project.pk, [New(one, f"run {number}", {"title": "Tea"}) for one in contacts])
        self.in_inbox |= {(number, one) for one in contacts}

    def known(self, person: int, number: int, name: str, *, days: int) -> None:
        device, since = self.devices[self.people[person].pk][number], NOW - timedelta(days=days)
        Reporter.objects.create(device_id=device, event=BY_NAME[name], since=since)
        self.known_to_tell[device] = days if name in STEP_NAMES else 0

    def runs(self, value: dict[str, Any]) -> list[int]:
        mine = [pk for pk, of in self.campaign_of.items() if value.get("campaign") in (None, of)]
        if value.get("run") == "last":
            mine = mine and [max(mine)]
        elif "run" in value:
            mine = [pk for pk in mine if pk == value["run"]]
        days = {"P2D": 2, "P30D": 30}.get(value.get("within", ""), 999)
        return [pk for pk in mine if self.days_ago[pk] < days]

    def holds(self, person: Contact, op: str, value: dict[str, Any]) -> bool:
        times = sum(self._ended(pk, person, value) for pk in self.runs(value))
        often = bool(times >= value.get("at_least", 1))
        return often == (op == "was")

    def _ended(self, run: int, person: Contact, value: dict[str, Any]) -> bool:
        ended, outcome = self.ends[run, person.pk], value["outcome"]
        if outcome == "planned":
            return bool(ended)
        if outcome == "not_reached":
            return bool(ended) and ("accepted", "") not in ended
        if outcome == "in_inbox":
            return (run, person.pk) in self.in_inbox
        if outcome == "not_opened":
            return self._not_opened(run, person, ended, can_tell="can_tell" in value)
        if outcome in ALSO:
            on = self.devices[person.pk]
            return any((run, device, name) in self.told for device in on for name in ALSO[outcome])
        fits = [end for end in ended if end and end[0] == outcome]
        return any(value.get("reason") in (None, reason) for _status, reason in fits)

    def _not_opened(self, run: int, person: Contact, ended: list[Any], *, can_tell: bool) -> bool:
        on = self.devices[person.pk]
        if ("accepted", "") not in ended or any((run, one, "opened") in self.told for one in on):
            return False
        may_have = [one for one, end in zip(on, ended, strict=False) if end and end[0] in MAY_HAVE]
        return not can_tell or all(self._tells(run, device) for device in may_have)

    def _tells(self, run: int, device: int) -> bool:
        before = self.known_to_tell.get(device, 0) > self.days_ago[run]
        return before or any((run, device, name) in self.told for name in STEP_NAMES)


@pytest.fixture
def world(db: None) -> Past:
    """Six people with one device, two, or none; four runs of two campaigns."""
    project = make_project()
    people = [make_contact(project, external_id=f"u{n}") for n in range(6)]
    counts = [1, 1, 1, 2, 2, 0]
    devices = {
        one.pk: [make_device(one).pk for _ in range(count)]
        for one, count in zip(people, counts, strict=True)
    }
    found = Past(project, people, devices)
    spring, summer = make_campaign(project, name="Spring"), make_campaign(project, name="Summer")
    ok, dead, lack, late, lost, waits = ENDS
    found.add_run(spring.pk, days_ago=40, ends=[[ok], [dead], [lack], [ok, lost], [lost, late], []])
    found.add_run(spring.pk, days_ago=10, ends=[[ok], [], [ok], [dead, dead], [waits, ok], []])
    found.add_run(summer.pk, days_ago=5, ends=[[lost], [ok], [], [late, lack], [ok, ok], []])
    found.add_run(spring.pk, days_ago=1, ends=[[], [waits], [ok], [waits, waits], [lack, lost], []])
    found.tell(0, 0, 0, "received", "opened", "action_2")
    found.tell(0, 3, 0, "displayed", "dismissed")
    found.tell(1, 4, 1, "received")
    found.tell(1, 2, 0, "action_1")
    found.tell(2, 4, 0, "opened")
    found.keep_in_inbox(0, 0, 1, 3)
    found.keep_in_inbox(3, 1, 2)
    found.known(2, 0, "opened", days=7)
    found.known(4, 0, "dismissed", days=50)
    found.known(4, 1, "received", days=20)
    found.known(0, 0, "received", days=30)
    return found


def rule(op: str = "was", **value: Any) -> dict[str, Any]:
    return {"field": "run", "op": op, "value": value}


def selected(project: Project, tree: dict[str, Any]) -> set[int]:
    audience.validate_rules(tree, project_id=project.pk)
    return {one.pk for one in selection.sample(project.pk, tree, size=100)}


def asked_together(world: Past, tree: dict[str, Any], people: list[Contact]) -> set[int]:
    """As a freeze asks, for a part whose people are these; the others are such as have come to own
    a device of it."""
    project_id, ids = world.project.pk, [one.pk for one in people]
    where = selection.compile_tree(answered(rules_for_sql(project_id, tree), ids[0], ids[-1]))
    with connection.cursor() as cursor:
        source = selection.people_and_devices(project_id)
        cursor.execute(
            f"SELECT DISTINCT c.id FROM {source} WHERE c.project_id = %s AND {where.sql}",
            [project_id, *where.params],
        )
        return {row[0] for row in cursor.fetchall()}


@st.composite
def values(draw: Any) -> dict[str, Any]:
    """Runs and campaigns by their place: 0 is the first one of the world."""
    value: dict[str, Any] = {"outcome": draw(st.sampled_from(sorted(past.OUTCOMES)))}
    if value["outcome"] in past.WITH_REASON and draw(st.booleans()):
        reasons = ["unregistered", "missing_value", "expired", "unanswered"]
        value["reason"] = draw(st.sampled_from(reasons))
    if value["outcome"] == "not_opened" and draw(st.booleans()):
        value["can_tell"] = True
    scope = draw(st.sampled_from(["any", "campaign", "run", "last", "last of campaign"]))
    if "campaign" in scope:
        value["campaign"] = draw(st.integers(0, 1))
    if scope == "run":
        value["run"] = draw(st.integers(0, 3))
    elif "last" in scope:
        value["run"] = "last"
    if draw(st.booleans()):
        value["within"] = draw(st.sampled_from(["P2D", "P30D"]))
    if "run" not in value and draw(st.booleans()):
        value["at_least"] = draw(st.integers(1, 3))
    return value


def placed(world: Past, value: dict[str, Any]) -> dict[str, Any]:
    runs, campaigns = sorted(world.campaign_of), sorted({*world.campaign_of.values()})
    ids: dict[str, Any] = {}
    if "campaign" in value:
        ids["campaign"] = campaigns[value["campaign"]]
    if "run" in value:
        ids["run"] = value["run"] if value["run"] == "last" else runs[value["run"]]
    return {**value, **ids}


leaves = st.tuples(st.sampled_from(["was", "was_not"]), values())


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=120
)
@given(given_leaves=st.lists(leaves, min_size=1, max_size=3), word=st.sampled_from(["all", "any"]))
def test_postgresql_finds_whom_the_past_describes(
    django_db_blocker: Any, world: Past, given_leaves: Any, word: str
) -> None:
    with django_db_blocker.unblock(), transaction.atomic():
        asked = [(op, placed(world, value)) for op, value in given_leaves]
        tree = {word: [rule(op, **value) for op, value in asked]}
        combine = all if word == "all" else any
        expected = {
            one.pk for one in world.people if combine(world.holds(one, *leaf) for leaf in asked)
        }
        assert selected(world.project, tree) == expected, json.dumps(tree)
        assert reach.count(world.project.pk, tree).people == len(expected)
        explained = {one.pk for one in world.people if why.verdict(one, tree).is_in}
        assert explained == expected
        assert asked_together(world, tree, world.people) == expected
        assert asked_together(world, tree, world.people[1:4]) == expected
        assert words.sentence(tree, project_id=world.project.pk)


def test_of_somebody_with_a_phone_that_reports_nothing_nobody_knows_whether_they_opened_it(
    world: Past,
) -> None:
    """On the first run: one of the third person's two phones tells, and the other may have got it
    as well."""
    first = min(world.campaign_of)
    accepted = selected(world.project, rule(outcome="accepted", run=first))
    unopened = rule(outcome="not_opened", run=first)
    told = rule(outcome="not_opened", run=first, can_tell=True)

    assert accepted == {world.people[n].pk for n in (0, 3)}
    assert selected(world.project, unopened) == {world.people[3].pk}
    assert selected(world.project, told) == set()
    Reporter.objects.create(
        device_id=world.devices[world.people[3].pk][1], event=1, since=NOW - timedelta(days=60)
    )
    assert selected(world.project, told) == {world.people[3].pk}


@pytest.mark.parametrize("close", [4, 0])
def test_a_run_freezes_whom_the_past_describes(
    world: Past, monkeypatch: pytest.MonkeyPatch, close: int
) -> None:
    """Whether the people of a part lie close together or not."""
    monkeypatch.setattr("campaigns.engine.freezing.CLOSE", close)
    tree = rule(outcome="not_reached", run="last")
    run = make_run(world.project, audience=make_audience(world.project, rules=tree))

    inside = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)

    assert {*inside} == {world.people[n].pk for n in (1, 3, 4)}
    newest = max(world.campaign_of)
    assert run.rules == rule(outcome="not_reached", run=newest, runs=[newest])


def test_a_run_does_not_find_itself(world: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that freezes in parts has recipients while it asks who was a recipient lately."""
    monkeypatch.setattr("campaigns.engine.freezing.DEVICES_AT_ONCE", 1)
    tree = rule("was_not", outcome="planned", within="P2D")
    run = make_run(world.project, audience=make_audience(world.project, rules=tree))

    while run.freezing:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()

    inside = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)
    assert {*inside} == {world.people[0].pk}


def test_the_explanation_names_the_newest_run_and_how_each_device_ended(world: Past) -> None:
    any_run = rule(outcome="planned")
    told = why.verdict(world.people[4], any_run).tree.history
    assert told.startswith("was in 4 runs; run ")
    assert "skipped (A value the text needs is missing for this person)" in told
    assert "unknown outcome (The request left, but no answer came)" in told
    newest = rule(outcome="planned", run="last")
    assert why.verdict(world.people[0], newest).tree.history == "was in none of these runs"


def test_the_explanation_of_a_report_says_what_was_told_and_what_could_be(world: Past) -> None:
    first, second, *_others = sorted(world.campaign_of)

    def told(person: int, run: int) -> str:
        asked = rule("was_not", outcome="opened", run=run)
        return why.verdict(world.people[person], asked).tree.history

    assert told(0, first) == f"run {first}: accepted; reported: Received, Opened, Button 2"
    assert told(2, second) == f"run {second}: accepted; reported: Button 1"
    assert told(0, second) == f"run {second}: accepted; nothing reported"
    assert told(3, second).endswith("expired); nothing reported")
    last = max(world.campaign_of)
    assert told(2, last) == f"run {last}: accepted; nothing reported"
    Reporter.objects.all().delete()
    assert told(2, last) == f"run {last}: accepted; nothing reported, and it cannot tell"


def test_nobody_counts_as_in_a_forgotten_run_and_the_sentence_says_so(world: Past) -> None:
    oldest = min(world.campaign_of)
    forgetting.forget(Run.objects.get(pk=oldest), by="test", now=NOW)
    tree = rule(outcome="accepted", run=oldest)
    assert selected(world.project, tree) == set()
    assert words.sentence(tree, project_id=world.project.pk) == (
        f"was reached by run {oldest} of “Spring” (its recipients were removed)"
    )
    [doubt] = warnings.of_rules(world.project.pk, rule(outcome="accepted"))
    assert doubt.code == "forgotten_runs"
    assert str(doubt).startswith("A rule refers to 1 run whose recipients were removed")
    assert warnings.of_rules(world.project.pk, rule(outcome="accepted", within="P30D")) == []


def test_rules_on_the_past_read_as_sentences(world: Past) -> None:
    spring = world.campaign_of[min(world.campaign_of)]
    said = {
        "was not reached by the last run": rule("was_not", outcome="accepted", run="last"),
        "was a recipient of the last run of “Spring” and was not reached": rule(
            outcome="not_reached", run="last", campaign=spring
        ),
        "was reached by any run within the last 30 days, at least 3 times": rule(
            outcome="accepted", within="P30D", at_least=3
        ),
        "is not known to have opened the last run of “Spring”": rule(
            "was_not", outcome="opened", run="last", campaign=spring
        ),
        "was reached by any run within the last 30 days and is not known to have opened it, "
        "at least 3 times": rule(outcome="not_opened", within="P30D", at_least=3),
        "was reached by the last run, can tell of it, and did not open it": rule(
            outcome="not_opened", can_tell=True, run="last"
        ),
        "was not skipped (The campaign's deadline passed first) in a run of “Spring”": {
            "not": rule(outcome="skipped", reason="expired", campaign=spring)
        },
    }
    for sentence, tree in said.items():
        assert words.sentence(tree, project_id=world.project.pk) == sentence


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (7, 'must be such as {"outcome": "accepted", "run": "last"}.'),
        ({"outcome": "delivered"}, "“outcome” must be one of planned, accepted"),
        (
            {"outcome": "opened", "reason": "expired"},
            "can only be used with rejected, skipped and unknown",
        ),
        ({"outcome": "opened", "can_tell": True}, "can only be used with not_opened"),
        ({"outcome": "not_opened", "can_tell": "yes"}, "“can_tell” must be true"),
        ({"outcome": ["planned"]}, "“outcome” must be one of"),
        (
            {"outcome": "planned", "reason": "expired"},
            "can only be used with rejected, skipped and unknown",
        ),
        ({"outcome": "skipped", "reason": {}}, "“reason” must be one of unregistered"),
        ({"outcome": "planned", "run": "first"}, "“run” must be the id of a run, or “last”"),
        ({"outcome": "planned", "campaign": "last"}, "“campaign” must be the id of a campaign"),
        ({"outcome": "planned", "run": True}, "“run” must be the id of a run"),
        ({"outcome": "planned", "within": "P1M"}, "“within” must be an ISO 8601 duration"),
        ({"outcome": "planned", "within": 30}, "“within” must be an ISO 8601 duration"),
        ({"outcome": "planned", "at_least": 0}, "“at_least” must be a whole number from 1"),
        ({"outcome": "planned", "at_least": 2, "run": "last"}, "in one run it happens once"),
        ({"outcome": "accepted", "revision": 1}, "“revision” must be the number of a text"),
        ({"outcome": "accepted", "run": "last", "revision": 1}, "used with the id of a run"),
        ({"outcome": "opened", "run": 1, "revision": 1}, "with accepted, in_inbox, rejected"),
        ({"outcome": "accepted", "run": 1, "revision": 0}, "must be the number of a text"),
        ({"outcome": "planned", "when": 1}, "unknown key “when”. Use at_least, campaign"),
        ({"outcome": "planned", "runs": [1]}, "remove “runs” from the value"),
        ({"outcome": "planned", "run": 2**62}, f"there is no run {2**62} in this project"),
        ({"outcome": "planned", "campaign": 2**62}, f"there is no campaign {2**62} in this"),
    ],
)
def test_an_impossible_rule_on_the_past_is_refused_with_the_fix(
    project: Project, value: Any, problem: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        audience.validate_rules(
            {"field": "run", "op": "was", "value": value}, project_id=project.pk
        )
    assert problem in " ".join(refused.value.messages)


def test_more_runs_than_one_rule_looks_through_are_refused(
    world: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(covered_runs, "MAX_RUNS", 3)
    with pytest.raises(ValidationError, match="at most 3 runs, and more match"):
        audience.validate_rules(rule(outcome="planned"), project_id=world.project.pk)
    audience.validate_rules(rule(outcome="planned", within="P30D"), project_id=world.project.pk)


def test_more_rules_on_the_past_than_a_statement_bears_are_refused(project: Project) -> None:
    tree = {"any": [rule(outcome="planned")] * 11}
    with pytest.raises(ValidationError, match="at most 10 rules on runs, campaigns and events"):
        audience.validate_rules(tree, project_id=project.pk)


def test_a_run_whose_rule_outgrew_the_limit_waits_for_a_person(
    world: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = make_audience(world.project, rules=rule(outcome="planned"))
    run = make_run(world.project, audience=who, advanced=False)
    monkeypatch.setattr(covered_runs, "MAX_RUNS", 2)

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "broken")
    assert "at most 2 runs" in run.detail


def test_a_rule_warns_of_those_of_whom_nobody_knows_whether_they_opened_it(world: Past) -> None:
    def warned(**value: Any) -> list[str]:
        return [str(one) for one in warnings.of_rules(world.project.pk, rule(**value))]

    said = "A rule asks who has not opened it. "
    they_may = "phone that cannot tell: they may have."
    second = sorted(world.campaign_of)[1]
    assert warned(outcome="not_opened", run=second) == [f"{said}Of 3, 1 has a {they_may}"]
    assert warned(outcome="not_opened") == [f"{said}It includes people with a {they_may}"]
    assert warned(outcome="not_opened", can_tell=True, run=second) == []
    assert warned(outcome="opened", run=second) == []
    first = make_run(world.project, audience=make_audience(world.project, rules={"any": []}))
    empty, of_second = (rule(outcome="not_opened", run=pk) for pk in (first.pk, second))
    both = warnings.of_rules(world.project.pk, {"any": [empty, of_second]})
    assert f"{said}Of 3, 1 has a {they_may}" in map(str, both), "the first rule has nobody"
    Reporter.objects.all().delete()
    since = NOW - timedelta(days=60)
    Reporter.objects.bulk_create(
        Reporter(device_id=device, event=1, since=since)
        for devices in world.devices.values()
        for device in devices
    )
    assert warned(outcome="not_opened", run=second) == []


def test_a_rule_warns_of_a_run_that_is_not_over(world: Past) -> None:
    going = make_run(world.project)
    waiting = f"Run {going.pk} is not finished: people still waiting in it count as not reached."
    for asked in (
        rule("was_not", outcome="accepted", run="last"),
        rule(outcome="not_reached", within="P30D"),
    ):
        assert [str(one) for one in warnings.of_rules(world.project.pk, asked)] == [waiting]
    older = rule("was_not", outcome="accepted", run=min(world.campaign_of))
    assert warnings.of_rules(world.project.pk, older) == []
    assert warnings.of_rules(world.project.pk, rule(outcome="accepted", run="last")) == []
