"""A report is called stale when it speaks of another text, of other people, or of long ago."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.audiences import reach
from campaigns.launch_check import text_check_result
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import TextCheck
from notifications.people.consent.category import Category
from notifications.people.importing.model import Import
from notifications.people.project import Project
from tests.given.builders import make_audience, make_campaign, make_snippet
from tests.text_check.reading import make_reader, read

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(project: Project) -> Campaign:
    for number in range(10):
        make_reader(project, f"u{number}", first_name="Ada")
    make_snippet(project, "footer", "Shop Ltd.")
    made = make_campaign(project, template={"title": "Hi {{ first_name }} {{ snippet.footer }}"})
    read(made)
    return made


def stale(campaign: Campaign) -> list[str]:
    fresh = Campaign.objects.get(pk=campaign.pk)
    ((_, texts),) = LaunchReport(fresh, timezone.now()).texts
    assert texts is not None
    return [str(one.code) for one in texts.stale]


def test_a_fresh_report_holds(campaign: Campaign) -> None:
    assert stale(campaign) == []


def new_text(campaign: Campaign) -> None:
    campaign.template.body = "Other"
    campaign.template.save()


def new_snippet(campaign: Campaign) -> None:
    footer = campaign.project.snippet_set.get()
    footer.text = "Shop Inc."
    footer.save()


def new_rules(campaign: Campaign) -> None:
    campaign.audience.rules = {"field": "locale", "op": "exists"}
    campaign.audience.save()


def new_audience(campaign: Campaign) -> None:
    rules = {"not": {"field": "locale", "op": "eq", "value": "xx"}}
    campaign.audience = make_audience(campaign.project, rules=rules)
    campaign.save()


def new_category(campaign: Campaign) -> None:
    campaign.category = Category.objects.create(
        project=campaign.project, name="Offers", slug="offers"
    )
    campaign.save()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (new_text, "text"),
        (new_snippet, "text"),
        (new_rules, "audience"),
        (new_audience, "audience"),
        (new_category, "audience"),
    ],
)
def test_what_it_speaks_of_has_changed(
    campaign: Campaign, change: Callable[[Campaign], None], code: str
) -> None:
    change(campaign)
    assert stale(campaign) == [code]


def test_many_more_devices_than_were_read_make_it_stale(campaign: Campaign) -> None:
    TextCheck.objects.update(report={**_report(), "totals": {"devices": 11}})
    assert stale(campaign) == ["people"]
    make_reader(campaign.project, "new")
    assert stale(campaign) == []
    make_reader(campaign.project, "newer")
    assert stale(campaign) == ["people"]


def test_an_import_that_wrote_many_people_since_makes_it_stale(campaign: Campaign) -> None:
    one = Import.objects.create(
        project=campaign.project, name="p.csv", size=1, by="user:alice", state="finished",
        finished_at=timezone.now() + timedelta(seconds=1), counts={"updated": 0, "unchanged": 10},
    )  # fmt: skip
    assert stale(campaign) == []
    one.counts = {"updated": 3}
    one.save()
    assert stale(campaign) == ["people"]


def test_a_newer_count_of_the_audience_is_heeded_where_nobody_counts_anew(
    campaign: Campaign,
) -> None:
    rules = campaign.audience.effective_rules
    for number, code in ((10, []), (12, ["people"])):
        found = reach.Reach(number, number, number, {"android": number})
        campaign.audience.keep_size(found, rules, timezone.now())
        texts = text_check_result.check_texts(Campaign.objects.get(pk=campaign.pk), timezone.now())
        assert [str(one.code) for one in texts[0].stale] == code


def test_after_a_week_it_is_old(campaign: Campaign) -> None:
    TextCheck.objects.update(finished_at=timezone.now() - timedelta(days=8))
    assert stale(campaign) == ["old"]


def _report() -> dict[str, object]:
    report: dict[str, object] = TextCheck.objects.get().report or {}
    return report
