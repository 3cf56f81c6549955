"""A sample has the proportions of all, and the same seed draws the same."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import actions
from campaigns.runs.ledger import Recipient
from campaigns.runs.rehearsal import Rehearsal
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_audience, make_campaign, make_people

pytestmark = pytest.mark.django_db
# Of each platform and language so many devices: 1,000 together.
KINDS = {("android", "ko"): 600, ("ios", "ko"): 250, ("ios", "en"): 90, ("web", "en"): 60}


@pytest.fixture
def campaign(project: Project) -> Campaign:
    devices = iter(make_people(project, sum(KINDS.values())))
    for (platform, locale), count in KINDS.items():
        some = [next(devices) for _ in range(count)]
        Device.objects.filter(pk__in=[one.pk for one in some]).update(platform=platform)
        people = [one.contact_id for one in some]
        Contact.objects.filter(pk__in=people).update(locale=locale)
    return make_campaign(project)


def drawn(campaign: Campaign, sample: int, **asked: Any) -> Rehearsal:
    made = actions.start(
        campaign, sample=sample, retires=False, by="user:alice", now=timezone.now(), **asked
    )
    engine.advance(made.pk, now=timezone.now())
    made.run.cancel()
    engine.advance(made.pk, now=timezone.now())
    return Rehearsal.objects.select_related("run").get(pk=made.pk)


def devices_of(rehearsal: Rehearsal) -> set[int]:
    rows = Recipient.objects.filter(run_id=rehearsal.pk)
    return set(rows.values_list("device_id", flat=True))


def test_each_platform_and_language_has_its_share(campaign: Campaign) -> None:
    rehearsal = drawn(campaign, 200)
    rows = Recipient.objects.filter(run_id=rehearsal.pk)
    found = Counter(rows.values_list("platform", "locale"))
    assert sum(found.values()) == rehearsal.run.planned == 200
    for kind, count in KINDS.items():
        assert abs(found[kind] - count / 5) <= 1, kind
    assert rehearsal.devices == 1_000
    assert rehearsal.people == 1_000
    assert rehearsal.strata["platform"]["android"][1] == 600
    assert rehearsal.strata["locale"]["en"] == [found["ios", "en"] + found["web", "en"], 150]


def test_the_recipients_are_numbered_and_in_chunks(campaign: Campaign) -> None:
    rehearsal = drawn(campaign, 200)
    rows = Recipient.objects.filter(run_id=rehearsal.pk).values_list("seq", flat=True)
    assert sorted(rows) == [*range(1, 201)]
    assert sum(chunk.size for chunk in rehearsal.run.chunks.all()) == 200


def test_the_same_seed_draws_the_same_devices_and_another_others(campaign: Campaign) -> None:
    first, again = (devices_of(drawn(campaign, 200, seed=7)) for _ in range(2))
    other = devices_of(drawn(campaign, 200, seed=1_007))  # the list begins where that of 7 does
    assert first == again
    assert len(first & other) < 100


def test_it_is_by_chance_and_not_every_fifth_that_was_registered(campaign: Campaign) -> None:
    rows = Recipient.objects.filter(run_id=drawn(campaign, 200).pk, platform="android")
    ids = sorted(rows.values_list("device_id", flat=True))
    assert len({later - one for one, later in pairwise(ids)}) > 3


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_large_as_asked_for_whatever_the_seed(campaign: Campaign, seed: int) -> None:
    assert drawn(campaign, 137, seed=seed).run.planned == 137


def test_of_fewer_than_were_asked_for_all_are_in(campaign: Campaign) -> None:
    rehearsal = drawn(campaign, 5_000)
    assert rehearsal.run.planned == rehearsal.devices == 1_000
    assert not rehearsal.is_sample


def test_it_is_drawn_from_the_audience_alone(campaign: Campaign, project: Project) -> None:
    rules = {"field": "locale", "op": "eq", "value": "en"}
    campaign.audience = make_audience(project, rules=rules)
    campaign.save()
    rehearsal = drawn(campaign, 100)
    assert (rehearsal.devices, rehearsal.run.planned) == (150, 100)
    rows = Recipient.objects.filter(run_id=rehearsal.pk)
    assert set(rows.values_list("locale", flat=True)) == {"en"}


def test_it_is_drawn_from_at_most_so_many_people(campaign: Campaign, project: Project) -> None:
    rules = {"field": "people", "op": "lte", "value": {"most": 300}}
    campaign.audience = make_audience(project, rules=rules)
    campaign.save()
    rehearsal = drawn(campaign, 100)
    assert (rehearsal.devices, rehearsal.run.planned) == (300, 100)


def test_an_empty_audience_ends_at_once(campaign: Campaign, project: Project) -> None:
    rules = {"field": "locale", "op": "eq", "value": "fr"}
    campaign.audience = make_audience(project, rules=rules)
    campaign.save()
    made = actions.start(campaign, sample=100, retires=False, by="user:alice", now=timezone.now())
    for _ in range(3):
        engine.advance(made.pk, now=timezone.now())
    made.run.refresh_from_db()
    assert (made.run.state, made.run.planned) == ("finished", 0)
