"""What the review foretells of a campaign with variants: of a value that one text needs, so many
lack it as get that text."""

from __future__ import annotations

from django.utils import timezone

from campaigns.forecast.skips.skipped import Skipped
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device, make_template


def make_crowd(project: Project) -> None:
    """Of 100 with one phone each, 40 lack a city and 20 a name; 20 lack both."""
    for number in range(100):
        has = {"city": "Seoul"} if number >= 40 else {}
        has |= {"nick": "Ada"} if number >= 20 else {}
        make_device(make_contact(project, attributes=has))


def foretold(campaign: Campaign) -> Skipped:
    return LaunchReport(Campaign.objects.get(pk=campaign.pk), timezone.now()).skipped


def make(project: Project, *titles: str) -> Campaign:
    """A fourth of the people get B."""
    campaign = make_campaign(project, template={"title": titles[0]}, weight=75)
    others = [(make_template(project, title=title), 25) for title in titles[1:]]
    campaign_variants.choose(campaign, others)
    return campaign


def test_a_value_that_one_variant_needs_is_missed_by_its_share_of_those_who_lack_it(
    project: Project,
) -> None:
    make_crowd(project)
    skipped = foretold(make(project, "Hello", "In {{ city }}"))
    assert [(one.variable, one.devices, one.exact) for one in skipped.losses] == [
        ("city", 10, False)
    ]
    assert (skipped.devices, skipped.exact) == (10, False)


def test_a_value_that_all_variants_need_is_counted_exactly(project: Project) -> None:
    make_crowd(project)
    skipped = foretold(make(project, "{{ city }}", "In {{ city }}"))
    assert (skipped.devices, skipped.exact) == (40, True)


def test_who_lacks_what_either_text_needs_is_counted_once_for_each_text(project: Project) -> None:
    make_crowd(project)
    skipped = foretold(make(project, "{{ city }}", "{{ city }} {{ nick }}"))
    by_variable = {one.variable: (one.devices, one.exact) for one in skipped.losses}
    assert by_variable == {"city": (40, True), "nick": (5, False)}
    assert skipped.devices == 40, "whoever lacks a nick lacks a city, too"
    only_b = foretold(make(project, "{{ nick }}", "{{ city }}"))
    assert only_b.devices == 25, "15 of the 20 of A, 10 of the 40 of B"
