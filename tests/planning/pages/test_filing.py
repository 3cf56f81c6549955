"""Tags, filters and the archive of the campaigns' list, for one campaign and for many."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning import tags_and_archive
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from notifications.values.moments import in_zone
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_campaign, make_people, make_project, make_run
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
LIST = "campaigns_campaign_changelist"


def names(desk: Desk, **query: Any) -> set[str]:
    """The campaigns the list shows."""
    html = desk.client.get(reverse(f"admin:{LIST}"), query).content.decode()
    return set(re.findall(r"/campaigns/campaign/\d+/change/[^>]*>([^<]+)</a></th>", html))


def many(desk: Desk, verb: str, *campaigns: Campaign, **values: Any) -> Any:
    ticked = [campaign.pk for campaign in campaigns]
    return desk.post(LIST, action=verb, index="0", _selected_action=ticked, **values)


def finished(of: Project, **values: Any) -> Campaign:
    """Launched for nobody, so that it finishes at once."""
    run = make_run(of, **values)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == Run.State.FINISHED
    campaign: Campaign = run.campaign
    return campaign


def test_the_list_says_when_a_campaign_went_out(desk: Desk, project: Project) -> None:
    make_campaign(project)
    assert "when launched" in desk.open(LIST)
    campaign = finished(project)
    run = Run.objects.get(campaign=campaign)
    assert in_zone(run.scheduled_at, project.timezone) in desk.open(LIST)


# --- Tags -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "tags"),
    [
        ("shop, spring", ["shop", "spring"]),
        (" Shop ,shop,  early   bird ,, ", ["Shop", "early bird"]),
        ("가을, 세일", ["가을", "세일"]),
        ("", []),
    ],
)
def test_tags_are_typed_with_commas_and_kept_once_each(
    desk: Desk, project: Project, typed: str, tags: list[str]
) -> None:
    campaign = make_campaign(project, tags=["old"])
    desk.confirm("campaigns_campaign_tag", campaign.pk, tags=typed)
    campaign.refresh_from_db()
    assert campaign.tags == tags
    entry = AuditEntry.objects.get(action="tagged")
    assert entry.changes == {"tags": [["old"], tags]}


def test_too_long_or_too_many_tags_are_refused_in_words(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    long = desk.confirm("campaigns_campaign_tag", campaign.pk, tags="x" * 31)
    assert "is too long: a tag has at most 30 characters." in text_of(long)
    eleven = ",".join(f"t{number}" for number in range(11))
    reply = desk.confirm("campaigns_campaign_tag", campaign.pk, tags=eleven)
    assert "would have 11 tags; the limit is 10." in text_of(reply)
    campaign.refresh_from_db()
    assert campaign.tags == []


def test_tags_are_added_to_all_or_to_none(desk: Desk, project: Project) -> None:
    full = make_campaign(project, tags=[f"t{number}" for number in range(10)])
    free = make_campaign(project, tags=["shop"])
    with pytest.raises(ValidationError):
        tags_and_archive.add_tags([free, full], ["new"], by="user:ada")
    free.refresh_from_db()
    assert free.tags == ["shop"]


def test_ticked_campaigns_get_tags_beside_those_they_have(desk: Desk, project: Project) -> None:
    one, two = make_campaign(project, tags=["shop"]), make_campaign(project)
    asked = many(desk, "tag_many", one, two)
    assert "Add tags to these campaigns" in text_of(asked) and one.name in text_of(asked)
    assert Campaign.objects.filter(tags=[]).exists()  # asked, not done
    none = many(desk, "tag_many", one, two, confirmed="yes", tags=" , ")
    assert "Write at least one tag." in text_of(none)
    many(desk, "tag_many", one, two, confirmed="yes", tags="spring, SHOP")
    one.refresh_from_db()
    two.refresh_from_db()
    assert (one.tags, two.tags) == (["shop", "spring"], ["spring", "SHOP"])


def test_the_list_is_filtered_by_tag_and_by_state(desk: Desk, project: Project) -> None:
    make_campaign(project, name="Draft", tags=["shop"])
    finished(project, name="Done", tags=["shop", "spring"])
    assert names(desk) == {"Draft", "Done"}
    assert names(desk, tag="spring") == {"Done"}
    assert names(desk, tag="shop", state="draft") == {"Draft"}
    assert names(desk, state="finished") == {"Done"}
    assert names(desk, tag="nobody's") == set()


# --- The archive ----------------------------------------------------------------------------------


def test_an_archived_campaign_leaves_the_list_and_comes_back(desk: Desk, project: Project) -> None:
    done, other = finished(project, name="Done"), make_campaign(project, name="Other")
    desk.confirm("campaigns_campaign_archive", done.pk)
    assert names(desk) == {"Other"}
    assert names(desk, shelf="archived") == {"Done"}
    assert names(desk, shelf="all") == {"Done", "Other"}
    page = desk.client.get(reverse("admin:campaigns_campaign_change", args=[done.pk])).content
    assert b"/bring_back/" in page and b"/archive/" not in page
    desk.confirm("campaigns_campaign_bring_back", done.pk)
    assert names(desk) == {"Done", "Other"}
    actions = AuditEntry.objects.filter(subject_kind="campaign", subject_name="Done").order_by("pk")
    assert [entry.action for entry in actions] == ["archived", "brought back"]
    assert not other.archived_at


def test_a_campaign_whose_run_is_not_finished_stays(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    reply = desk.confirm("campaigns_campaign_archive", run.campaign_id)
    assert "A run of it is not finished." in text_of(reply)
    assert not Campaign.objects.exclude(archived_at=None).exists()


def test_many_are_archived_at_once_after_a_question(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    at = timezone.now() + timedelta(days=1)
    waiting = make_campaign(project, name="Waiting", schedule_kind="at", at=at)
    control.launch(waiting, by="user:ada", now=timezone.now())
    drafts = [make_campaign(project, name=f"Draft {number}") for number in range(4)]

    asked = text_of(many(desk, "archive_many", waiting, *drafts))
    assert "Waiting stays: a run of it is not finished" in asked
    assert not Campaign.objects.exclude(archived_at=None).exists()

    reply = many(desk, "archive_many", waiting, *drafts, confirmed="yes")
    warned, told = messages_of(reply)
    assert "“Waiting”" in warned and "and 1 more" in told
    assert names(desk) == {"Waiting"}

    back = desk.client.post(
        reverse(f"admin:{LIST}") + "?shelf=archived",
        {"action": "bring_back_many", "_selected_action": [drafts[0].pk], "confirmed": "yes"},
    )
    assert "In the list again: “Draft 0”" in messages_of(back)[0]  # type: ignore[arg-type]
    assert names(desk) == {"Waiting", "Draft 0"}


def test_the_list_offers_neither_deleting_many_nor_all_pages(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    html = desk.client.get(reverse(f"admin:{LIST}")).content.decode()
    assert "archive_many" in html and "delete_selected" not in html
    many(desk, "delete_selected", campaign, post="yes")
    assert Campaign.objects.filter(pk=campaign.pk).exists()


def test_an_archived_campaign_is_not_launched_and_its_copy_is_no_archive(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    campaign = make_campaign(project, name="Old", tags=["shop"], archived_at=timezone.now())
    assert "Bring it back first." in desk.open("campaigns_campaign_launch", campaign.pk)
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert not Run.objects.exists()
    desk.confirm("campaigns_campaign_duplicate", campaign.pk)
    copy = Campaign.objects.get(name="Old (copy)")
    assert (copy.archived_at, copy.tags) == (None, ["shop"])


def test_without_the_right_to_change_nothing_is_filed(client: Client, project: Project) -> None:
    campaign = make_campaign(project)
    client.force_login(User.objects.create_user("bob", "b@example.com", "x", is_staff=True))
    for verb in ("tag", "archive", "bring_back"):
        url = reverse(f"admin:campaigns_campaign_{verb}", args=[campaign.pk])
        assert client.post(url, {"_form_submitted": "on"}).status_code == 403
    assert not Campaign.objects.exclude(archived_at=None).exists()


def test_names_and_tags_are_text_wherever_they_stand(desk: Desk, project: Project) -> None:
    nasty = '"><img src=x>'
    campaign = make_campaign(make_project(), name=nasty, tags=[nasty])
    assert b"<img src=x" not in desk.client.get(reverse(f"admin:{LIST}")).content
    assert b"<img src=x" not in many(desk, "tag_many", campaign).content


def test_a_viewer_is_offered_nothing_to_file(project: Project) -> None:
    make_campaign(project)
    page = logged_in(Role.VIEWER).get(reverse(f"admin:{LIST}")).content
    assert b"archive_many" not in page and b'type="checkbox"' not in page
    assert b"archive_many" in logged_in(Role.EDITOR).get(reverse(f"admin:{LIST}")).content
