"""Whoever has had enough messages gets no further one, and nobody is miscounted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import engine
from campaigns.runs import claiming
from campaigns.runs.caps import counted_pushes
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.chunk import LEASE
from campaigns.runs.ledger import Delivery, Retry
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.unsettled import left_to_send
from notifications.people.consent.category import Category
from notifications.people.device import Device
from notifications.people.erased_people import forget_people
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.given.waiting import eventually, somebody_waits
from tests.rehearsals.shared import ends_of, rehearse
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db

HELLO = {"title": "Hello", "body": "x"}
ACCEPTED, CAPPED = ("accepted", ""), ("skipped", "capped")


@pytest.fixture
def shop(project: Project) -> Project:
    """Two a day."""
    return capped(project, cap_per_day=2)


def capped(project: Project, **caps: int | None) -> Project:
    Project.objects.filter(pk=project.pk).update(**caps)
    project.refresh_from_db()
    return project


def person(project: Project, *, devices: int = 1, **values: Any) -> list[Device]:
    ada = make_contact(project, **values)
    return [make_device(ada) for _ in range(devices)]


def send(run: Run) -> list[tuple[str, str]]:
    """To its end; what became of its recipients, by number."""
    for _ in range(3):
        engine.advance(run.pk, now=timezone.now())
        for chunk in run.chunks.filter(state="queued"):
            sending.send(run.pk, chunk.number, run.epoch)
    run.refresh_from_db()
    ended = Delivery.objects.filter(run_id=run.pk).order_by("seq")
    return list(ended.values_list("status", "reason"))


def ago(time: timedelta) -> None:
    """As if everything counted had been so long ago."""
    for row in Counted.objects.all():
        Counted.objects.filter(pk=row.pk).update(at=row.at - time)


def category(project: Project, kind: str = "marketing", caps: str = "keep") -> Category:
    name = f"{kind}-{caps}"
    return Category.objects.create(project=project, name=name, slug=name, kind=kind, caps=caps)


def test_the_third_message_of_a_day_skips_the_person(shop: Project, fcm: Fcm) -> None:
    person(shop)
    ends = [send(make_run(shop)) for _ in range(3)]
    assert ends == [[ACCEPTED], [ACCEPTED], [CAPPED]]
    assert len(fcm.witness()) == 2

    ago(timedelta(hours=24))
    assert send(make_run(shop)) == [ACCEPTED], "24 hours later it is another day"


def test_the_week_has_a_cap_of_its_own(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1, cap_per_week=2)
    person(project)
    ends = []
    for _ in range(3):
        ends += send(make_run(project))
        ago(timedelta(hours=25))
    assert ends == [ACCEPTED, ACCEPTED, CAPPED]
    ago(timedelta(days=5))
    assert send(make_run(project)) == [ACCEPTED]


def test_between_two_messages_lies_the_least_gap(project: Project, fcm: Fcm) -> None:
    capped(project, cap_gap_minutes=60)
    person(project)
    assert send(make_run(project)) == [ACCEPTED]
    ago(timedelta(minutes=59))
    assert send(make_run(project)) == [CAPPED]
    ago(timedelta(minutes=2))
    assert send(make_run(project)) == [ACCEPTED]


def test_a_persons_devices_count_as_one(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1)
    person(project, devices=3)
    assert send(make_run(project)) == [ACCEPTED] * 3
    assert send(make_run(project)) == [CAPPED] * 3


@pytest.mark.parametrize(
    ("kind", "caps", "is_held", "is_counted"),
    [
        ("marketing", "keep", True, True),
        ("marketing", "exempt", False, True),
        ("marketing", "free", False, False),
        ("transactional", "keep", False, True),
        ("transactional", "free", False, False),
        ("critical", "keep", False, False),
    ],
)
def test_a_category_says_whether_it_is_held_and_whether_it_counts(
    project: Project, fcm: Fcm, kind: str, caps: str, is_held: bool, is_counted: bool
) -> None:
    capped(project, cap_per_day=1)
    person(project)
    its_own = category(project, kind, caps)
    assert send(make_run(project, category=its_own)) == [ACCEPTED]
    assert Counted.objects.exists() is is_counted

    Counted.objects.all().delete()
    send(make_run(project))  # now they have had enough
    assert send(make_run(project, category=its_own)) == [CAPPED if is_held else ACCEPTED]


def offers(project: Project, **caps: int) -> Category:
    return Category.objects.create(project=project, name="Offers", slug="offers", **caps)


def test_a_category_has_caps_of_its_own_beside_the_projects(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=2)
    person(project)
    its_own = offers(project, cap_per_day=1)
    sent = [send(make_run(project, category=one)) for one in (its_own, its_own, None, None)]
    assert sent == [[ACCEPTED], [CAPPED], [ACCEPTED], [CAPPED]]

    Counted.objects.update(category=None)
    assert send(make_run(project, category=its_own)) == [CAPPED], "the project's hold for it, too"


def test_a_category_may_have_a_week_and_a_gap_of_its_own(project: Project, fcm: Fcm) -> None:
    person(project)
    its_own = offers(project, cap_per_week=2, cap_gap_minutes=60)
    ends = [send(make_run(project, category=its_own))]
    ago(timedelta(minutes=59))
    ends.append(send(make_run(project, category=its_own)))
    ago(timedelta(minutes=2))
    ends.append(send(make_run(project, category=its_own)))
    ago(timedelta(days=6))
    ends.append(send(make_run(project, category=its_own)))
    ago(timedelta(days=1))
    ends.append(send(make_run(project, category=its_own)))
    assert ends == [[ACCEPTED], [CAPPED], [ACCEPTED], [CAPPED], [ACCEPTED]]


def test_where_only_a_category_has_caps_nothing_else_is_counted(project: Project, fcm: Fcm) -> None:
    person(project)
    its_own = offers(project, cap_per_day=1)
    others = [None, category(project), category(project, "transactional")]
    assert [send(make_run(project, category=one)) for one in others] == [[ACCEPTED]] * 3
    assert not Counted.objects.exists()
    assert send(make_run(project, category=its_own)) == [ACCEPTED]
    assert [*Counted.objects.values_list("category", flat=True)] == [its_own.pk]


def test_a_campaign_may_go_past_the_caps_and_counts(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1)
    person(project)
    its_own = offers(project, cap_per_day=1)
    past = [make_run(project, category=its_own, past_caps=True, advanced=False) for _ in range(2)]
    for run in past:
        told = Caller(project).get(f"campaigns/{run.campaign_id}/check").json()
        assert told["skipped"] == []
        assert send(run) == [ACCEPTED]
    assert send(make_run(project)) == [CAPPED]


def test_what_did_not_arrive_does_not_count(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1)
    dead, well = make_people(project, ["dead-1", "ok-1"])
    send(make_run(project))
    assert [*Counted.objects.values_list("contact_id", flat=True)] == [well.contact_id]
    make_device(dead.contact)
    assert send(make_run(project)) == [CAPPED, ACCEPTED]


def test_messages_to_one_person_keep_to_them_too(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1)
    person(project, external_id="ada")
    person(project, external_id="bob")
    assert messages(project, "ada", "ada", "bob") == [ACCEPTED, CAPPED, ACCEPTED]
    assert send(make_run(project)) == [CAPPED, CAPPED]


def test_messages_to_one_person_keep_to_those_of_their_category(project: Project, fcm: Fcm) -> None:
    its_own = offers(project, cap_per_day=1)
    person(project, external_id="ada")
    assert messages(project, "ada", "ada", category=its_own.pk) == [ACCEPTED, CAPPED]
    assert messages(project, "ada") == [ACCEPTED]


def messages(project: Project, *people: str, **values: int) -> list[tuple[str, str]]:
    """What became of each."""
    call = Caller(project)
    asked = [{"to": {"contact": to}, "content": HELLO, **values} for to in people]
    sent = [call.post("messages", one).json() for one in asked]
    tasks.send_messages()
    ends = [call.get(f"messages/{one['id']}").json()["devices"][0] for one in sent]
    return [(end["status"], end["reason"]) for end in ends]


def test_a_worker_that_dies_leaves_its_people_counted_once(shop: Project, fcm: Fcm) -> None:
    person(shop)
    run = make_run(shop)
    died = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert died is not None and died.open_window([1], timezone.now())
    assert Counted.objects.count() == 1
    let_leases_lapse()

    assert send(run) == [ACCEPTED], "they were counted for this very message"

    ends = [send(make_run(shop)) for _ in range(2)]
    assert ends == [[ACCEPTED], [CAPPED]], "two windows, and one message"


def test_whom_another_run_rings_after_the_first_look_is_left_out_at_the_second(
    project: Project, fcm: Fcm
) -> None:
    capped(project, cap_per_day=1)
    people = [person(project)[0].contact_id for _ in range(2)]
    runs = [make_run(project) for _ in range(2)]
    claims = [claiming.claim(run.pk, 1, run.epoch, task_id=None) for run in runs]
    for one in claims:
        assert one and [left.out for left in left_to_send(one)] == ["", ""]
    first, second = (one.open_window([1, 2], timezone.now()) for one in claims if one)
    assert first and first.seqs == {1, 2}
    assert second and second.out == {1: ("capped", ""), 2: ("capped", "")}
    assert {*Counted.objects.values_list("contact_id", "run_id")} == {
        (one, runs[0].pk) for one in people
    }


def test_whoever_waited_for_another_try_when_it_was_cancelled_is_not_counted(
    project: Project, fcm: Fcm
) -> None:
    capped(project, cap_per_day=1)
    make_people(project, ["unavailable-1"])
    run = make_run(project, on_unknown="resend")
    send(run)
    Retry.objects.filter(run_id=run.pk).update(ambiguous=False, copies=0)
    assert Counted.objects.count() == 1
    run.cancel()
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert (run.skipped, Counted.objects.count()) == (1, 0)


@pytest.mark.django_db(transaction=True)
def test_two_runs_that_meet_at_the_same_person_ring_them_once(project: Project, fcm: Fcm) -> None:
    """Their windows open at the same moment, and neither sees what the other is writing."""
    capped(project, cap_per_day=1)
    person(project)
    runs = [make_run(project) for _ in range(6)]
    claims = [claiming.claim(run.pk, 1, run.epoch, task_id=None) for run in runs]
    together = Barrier(len(claims))

    def opened(claim: Any) -> int:
        together.wait()
        window = claim.open_window([1], timezone.now())
        connection.close()
        return len(window.seqs)

    with ThreadPoolExecutor(len(claims)) as pool:
        assert sorted(pool.map(opened, claims)) == [0, 0, 0, 0, 0, 1]
    assert Counted.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_window_that_waited_for_its_turn_is_dated_when_it_came(shop: Project, fcm: Fcm) -> None:
    person(shop)
    run = make_run(shop)
    claim = claiming.claim(run.pk, 1, run.epoch, task_id=None)
    assert claim is not None

    def open_window() -> None:
        claim.open_window([1], timezone.now())
        connection.close()

    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(counted_pushes.TURN, {"project": shop.pk})
            opened = elsewhere.submit(open_window)
            eventually("it waits for its turn", somebody_waits)
            its_turn = timezone.now()
        opened.result(30)
    assert Counted.objects.get().at >= its_turn
    leased_until = run.chunks.get().lease_until
    assert leased_until and leased_until >= its_turn + LEASE


def test_whoever_sleeps_is_judged_when_they_wake(project: Project, fcm: Fcm) -> None:
    now = timezone.now()
    begin, end = ((now + timedelta(hours=hours)).time() for hours in (-2, 2))
    capped(project, cap_per_day=1)
    person(project, timezone="Etc/UTC")
    send(make_run(project))
    Project.objects.update(quiet_from=begin, quiet_until=end)
    project.refresh_from_db()
    run = make_run(project)
    assert send(run) == [], "by then a day may have passed"
    assert Retry.objects.get(run_id=run.pk).reason == "quiet_hours"


def test_a_rehearsal_skips_who_has_had_enough_and_counts_nobody(project: Project, fcm: Fcm) -> None:
    capped(project, cap_per_day=1)
    person(project)
    run = make_run(project)
    send(run)
    person(project)
    campaign = make_run(project, advanced=False).campaign
    for _ in range(2):
        rehearsed = rehearse(campaign).run
        assert (rehearsed.accepted, rehearsed.skipped) == (1, 1)
        assert ends_of(rehearsed.rehearsal)[0] == CAPPED
    assert Counted.objects.count() == 1


def test_a_project_without_caps_is_counted_nowhere(project: Project, fcm: Fcm) -> None:
    person(project)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        send(make_run(project))
    assert not Counted.objects.exists()
    said = [query["sql"] for query in asked.captured_queries]
    assert said and not [one for one in said if "campaigns_counted" in one or "caps of" in one]


def test_whoever_is_erased_is_counted_no_more(shop: Project, fcm: Fcm) -> None:
    (device,) = person(shop)
    send(make_run(shop))
    forget_people([device.contact_id])
    assert not Counted.objects.exists()


def test_what_no_cap_asks_for_any_more_is_removed(shop: Project, fcm: Fcm) -> None:
    person(shop)
    send(make_run(shop))
    ago(timedelta(days=7, hours=23))
    counted_pushes.remove_old(timezone.now())
    assert Counted.objects.exists()
    ago(timedelta(hours=2))
    counted_pushes.remove_old(timezone.now())
    assert not Counted.objects.exists()
