"""A campaign with variants has each of its texts read, as if everybody got it."""

from __future__ import annotations

import pytest

from campaigns import tasks
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.text_check import model
from campaigns.text_check.model import TextCheck
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_template
from tests.roles.people import logged_in
from tests.text_check.reading import make_reader

pytestmark = pytest.mark.django_db
CARD = "campaign_text_check"


@pytest.fixture
def campaign(project: Project) -> Campaign:
    """A is in order; B asks one of two people for a city that they lack."""
    make_reader(project, "has", city="Seoul")
    make_reader(project, "lacks")
    campaign = make_campaign(project, name="Spring", template={"title": "A", "body": "Hello"})
    campaign_variants.choose(
        campaign, [(make_template(project, title="B", body="In {{ city }}"), 50)]
    )
    return campaign


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.SENDER))


def read_all() -> None:
    """Each in its turn."""
    while check := TextCheck.objects.filter(state="waiting").order_by("variant").first():
        tasks.check_texts(check.pk)


def test_what_is_wrong_with_a_variant_is_found_and_said_under_its_letter(
    campaign: Campaign, desk: Desk
) -> None:
    desk.post(CARD, campaign.pk, days="7")
    assert sorted(TextCheck.objects.values_list("variant", flat=True)) == [0, 1]
    read_all()
    page = desk.open(CARD, campaign.pk)
    assert "Variant A" in page and "nothing to mend" in page
    of_b = page[page.index("Variant B") :]
    assert "“{{ city }}” is missing: 1 device will be skipped" in of_b
    launch = desk.open("campaigns_campaign_launch", campaign.pk)
    assert "Text check Variant A: nothing to mend Variant B: 1 to mend" in launch


def test_the_texts_of_one_campaign_are_read_one_after_the_other(
    campaign: Campaign, desk: Desk
) -> None:
    """Five at once would hold five workers."""
    desk.post(CARD, campaign.pk, days="7")
    a, b = TextCheck.objects.order_by("variant")
    assert model.unfinished() == [a.pk]
    tasks.check_texts(b.pk)
    b.refresh_from_db()
    assert b.state == "waiting", "it is not its turn"
    tasks.check_texts(a.pk)
    assert model.following(a.pk) == b.pk and model.unfinished() == [b.pk]
    tasks.check_texts(b.pk)
    assert model.following(b.pk) is None and model.unfinished() == []


def test_while_one_is_still_read_the_other_is_shown(campaign: Campaign, desk: Desk) -> None:
    desk.post(CARD, campaign.pk, days="7")
    first = TextCheck.objects.get(variant=0)
    tasks.check_texts(first.pk)
    page = text_of(desk.post(CARD, campaign.pk, days="7"))
    assert "being checked already" in page
    page = desk.open(CARD, campaign.pk)
    assert "50 %" in page and "Each variant is read for everybody." in page
    assert "Variant A" in page and "Variant B" not in page


def test_only_the_report_of_the_text_that_changed_is_stale(
    campaign: Campaign, desk: Desk, project: Project
) -> None:
    desk.post(CARD, campaign.pk, days="7")
    read_all()
    other = campaign.variants.get().template
    other.body = "In {{ city | default: 'town' }}"
    other.save()
    page = desk.open(CARD, campaign.pk)
    of_a, of_b = page.split("Variant B")
    assert "This report is stale." in of_b and "This report is stale." not in of_a
    campaign_variants.choose(campaign, [])
    assert "Variant" not in desk.open(CARD, campaign.pk)


def test_a_variant_chosen_after_the_check_is_said_to_be_unread(
    campaign: Campaign, desk: Desk, project: Project
) -> None:
    desk.post(CARD, campaign.pk, days="7")
    read_all()
    chosen = [(one.template, one.weight) for one in campaign.variants.all()]
    campaign_variants.choose(campaign, [*chosen, (make_template(project, title="C"), 50)])
    page = desk.open(CARD, campaign.pk)
    assert "The text of this variant was not read yet. Check again." in page.split("Variant C")[1]
    assert "Variant C: not done" in desk.open("campaigns_campaign_launch", campaign.pk)


def test_a_second_check_keeps_one_report_of_each_text(campaign: Campaign, desk: Desk) -> None:
    for _ in range(2):
        desk.post(CARD, campaign.pk, days="7")
        read_all()
    assert sorted(TextCheck.objects.values_list("variant", "state")) == [
        (0, "finished"), (1, "finished"),
    ]  # fmt: skip


def test_the_api_tells_of_each_by_letter(campaign: Campaign, project: Project) -> None:
    caller = Caller(project)
    path = f"campaigns/{campaign.pk}/text-check"
    assert caller.get(path).status_code == 404
    begun = caller.post(path, {})
    assert (begun.status_code, [*begun.json()["variants"]]) == (202, ["B"])
    read_all()
    said = caller.get(path).json()
    assert said["report"]["totals"]["skipped"] == 0
    assert said["variants"]["B"]["report"]["totals"]["skipped"] == 1
    assert [one["code"] for one in said["variants"]["B"]["report"]["findings"]][:1] == ["missing"]
