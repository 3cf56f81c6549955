"""What came of each variant: its numbers on the page, in the API, in files, and in a sentence that
says “surely” only when it is."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.recounting import recount
from campaigns.engagement.store_receipts import keep
from campaigns.engine import breakdowns, engine
from campaigns.planning.campaign import Campaign
from campaigns.results.variants import Answer, Comparison, Metric, compared
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.events import writing
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_device, make_people
from tests.given.by_hand import work
from tests.servers.fcm import Fcm
from tests.variants.shared import CONTROL, counts, groups_by_seq, make_split


@pytest.fixture
def shop(project: Project) -> Project:
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    project.refresh_from_db()
    return project


def sent(campaign: Campaign) -> Run:
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    work(run)
    while breakdowns.has_more(run.pk):
        breakdowns.count_next(run.pk)
    run.refresh_from_db()
    return run


def open_it(run: Run, share: dict[int, float]) -> dict[int, int]:
    """So many of each group open it: how many that is."""
    opened: dict[int, int] = {}
    for group, part in share.items():
        seqs = [seq for seq, theirs in sorted(groups_by_seq(run).items()) if theirs == group]
        chosen = seqs[: round(len(seqs) * part)]
        keep([Report(run.pk, seq, Event.OPENED, None) for seq in chosen])
        opened[group] = len(chosen)
    return opened


def comparison(run: Run, metric: Metric = Metric.OPENED) -> Comparison:
    found = compared(run)
    assert found is not None
    (one,) = (each for each in found.comparisons if each.metric == metric)
    return one


def test_a_clear_difference_is_told_surely_and_a_small_one_is_too_early(
    shop: Project, fcm: Fcm
) -> None:
    make_people(shop, 600)
    run = sent(make_split(shop))
    open_it(run, {0: 0.20, 1: 0.22})
    assert comparison(run).answer == Answer.TOO_EARLY
    assert "too early to say which is opened more" in comparison(run).sentence
    open_it(run, {1: 0.45})
    said = comparison(run)
    assert (said.codes, said.answer) == (("B", "A"), Answer.MORE)
    assert said.sentence.startswith("Variant B was opened more, surely: by 4")
    low, high = said.intervals[0]
    assert low < 0.45 < high


def test_two_phones_of_one_person_are_one_opening(shop: Project, fcm: Fcm) -> None:
    for device in make_people(shop, 40):
        make_device(device.contact)
    run = sent(make_split(shop))
    open_it(run, {0: 1.0, 1: 1.0})
    said = comparison(run)
    assert (said.count, said.of) == (run.split["people"]["1"],) * 2
    assert said.count + said.other_count == 40


@pytest.mark.django_db(transaction=True)  # the recount reads in a snapshot of its own
def test_the_lines_add_up_to_the_run(shop: Project, fcm: Fcm) -> None:
    make_people(shop, 90)
    run = sent(make_split(shop, (30, 30, 30), control_percent=20))
    opened = open_it(run, {0: 0.5, 1: 0.2, 2: 0.0})
    found = compared(run)
    assert found is not None
    lines = {line.group: line for line in found.lines}
    assert [*lines] == [0, 1, 2, CONTROL]
    assert {group: line.devices for group, line in lines.items()} == counts(run)
    assert sum(line.kind.accepted for line in found.lines if line.kind) == run.accepted
    left_out = lines[CONTROL].kind
    assert left_out is not None
    assert left_out.skipped == run.skipped == counts(run)[CONTROL]
    assert {group: lines[group].steps[-1].count for group in opened} == opened
    assert recount(run, now=timezone.now()) == 0, "the sums differ from the rows"


def does(run: Run, group: int, share: float) -> None:
    people = Recipient.objects.filter(run_id=run.pk, variant=group).order_by("seq")
    chosen = people[: round(people.count() * share)]
    names = Contact.objects.in_bulk([row.contact_id for row in chosen]).values()
    events = [writing.Event(one.external_id, "bought", timezone.now(), {}) for one in names]
    assert writing.write(run.project_id, events) == set()


def test_what_people_did_is_compared_with_the_control_group_though_it_opened_nothing(
    shop: Project, fcm: Fcm
) -> None:
    make_people(shop, 500)
    run = sent(make_split(shop, control_percent=40, goal_event="bought"))
    does(run, CONTROL, 0.10)
    does(run, 0, 0.12)
    does(run, 1, 0.10)
    assert comparison(run, Metric.DID).answer == Answer.TOO_EARLY
    does(run, 0, 0.40)
    does(run, 1, 0.40)
    said = comparison(run, Metric.DID)
    assert (said.codes, said.answer) == (("sent", "control"), Answer.MORE)
    assert "“bought” came from more people, surely" in said.sentence


def test_a_run_that_is_not_split_compares_nothing(shop: Project, fcm: Fcm) -> None:
    make_people(shop, 5)
    run = sent(make_split(shop, (1,)))
    assert compared(run) is None


# --- Doors ----------------------------------------------------------------------------------------


def test_the_api_tells_each_variant_with_its_interval(shop: Project, fcm: Fcm) -> None:
    make_people(shop, 400)
    run = sent(make_split(shop, control_percent=10))
    opened = open_it(run, {0: 0.1, 1: 0.6})
    call = Caller(shop)
    body: dict[str, Any] = call.get(f"runs/{run.pk}/variants").json()
    lines = {one["variant"]: one for one in body["variants"]}
    assert [*lines] == ["A", "B", "control"]
    assert (lines["B"]["opened_people"], lines["B"]["steps"][-1]["count"]) == (opened[1],) * 2
    assert lines["control"]["skipped"] == counts(run)[CONTROL]
    (said,) = body["comparisons"]
    assert (said["one"], said["other"], said["answer"]) == ("B", "A", "more")
    assert said["interval"][0] < 0.6 < said["interval"][1]
    cut = call.get(f"runs/{run.pk}/breakdown?by=variant").json()
    assert {one["value"] for one in cut["items"]} == {"A", "B", "control"}
    groups = call.get(f"runs/{run.pk}/funnel?by=variant").json()["groups"]
    assert {one["value"] for one in groups} == {"A", "B", "control"}


def test_recipients_are_found_and_taken_away_by_variant(
    shop: Project, fcm: Fcm, desk: Desk
) -> None:
    make_people(shop, 60)
    run = sent(make_split(shop, control_percent=30))
    call = Caller(shop)
    for name, group in (("B", 1), ("control", CONTROL)):
        rows = call.get(f"runs/{run.pk}/deliveries?variant={name}&limit=100").json()["results"]
        assert len(rows) == counts(run)[group]
        assert {row["variant"] for row in rows} == {name}
    assert call.get(f"runs/{run.pk}/deliveries?variant=Z").status_code == 400
    lines = desk.client.get(f"/admin/campaigns/run/{run.pk}/recipients.csv?variant=control")
    text = b"".join(lines.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert len(text) == 1 + counts(run)[CONTROL]
    assert text[0].endswith(",variant") and text[1].endswith(",control")
    assert "Control group" in desk.open("run_deliveries", run.pk, variant="control")


def test_the_page_shows_each_variant_and_the_sentence(shop: Project, fcm: Fcm, desk: Desk) -> None:
    make_people(shop, 400)
    run = sent(make_split(shop, control_percent=10))
    open_it(run, {0: 0.1, 1: 0.6})
    page = desk.open("run_variants", run.pk)
    assert "Variant B was opened more, surely" in page
    assert "Control group" in page and "gets nothing" in page
    assert "In the control group, which gets nothing" in desk.open("campaigns_run_change", run.pk)


def test_why_names_the_variant_and_the_control_group(shop: Project, fcm: Fcm, desk: Desk) -> None:
    make_people(shop, 30)
    run = sent(make_split(shop, control_percent=40))
    of = {group: seq for seq, group in groups_by_seq(run).items()}
    call = Caller(shop)
    for group, name, words in ((1, "B", "Variant B"), (CONTROL, "control", "Control group")):
        row = Recipient.objects.get(run_id=run.pk, seq=of[group])
        person = Contact.objects.get(pk=row.contact_id).external_id
        told = call.get(f"runs/{run.pk}/why?contact={person}").json()
        assert told["recipients"][0]["variant"] == name
        assert f"By chance this person fell into: {words}." in desk.open(
            "run_why", run.pk, person=person
        )
        if group == CONTROL:
            assert "In the control group, which gets nothing" in told["answer"]


def test_who_was_to_get_nothing_was_not_missed(shop: Project, fcm: Fcm) -> None:
    make_people(shop, 40)
    run = sent(make_split(shop, control_percent=50))
    call = Caller(shop)
    rules = {"field": "run", "op": "was", "value": {"outcome": "not_reached", "run": run.pk}}
    assert call.post("audiences/estimate", {"rules": rules}).json()["contacts"] == 0
    skipped = {**rules, "value": {"outcome": "skipped", "run": run.pk, "variant": "control"}}
    found = call.post("audiences/estimate", {"rules": skipped}).json()["contacts"]
    assert found == counts(run)[CONTROL]
    of_b = {**rules, "value": {"outcome": "accepted", "run": run.pk, "variant": "B"}}
    assert call.post("audiences/estimate", {"rules": of_b}).json()["contacts"] == counts(run)[1]
    odd = {**rules, "value": {"outcome": "accepted", "run": "last", "variant": "B"}}
    assert call.post("audiences/estimate", {"rules": odd}).status_code == 400
