"""The pages: asked for in a dialog that names its cost, watched, and compared."""

from __future__ import annotations

import pytest
from django.urls import reverse

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.rehearsals import pages
from campaigns.runs.rehearsal import Rehearsal
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of
from tests.given.builders import addresses, make_campaign, make_people
from tests.rehearsals.shared import ask, drive, launch, owner_of, rehearse
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
DIALOG = "campaigns_campaign_rehearse"


@pytest.fixture
def desk() -> Desk:
    return Desk(logged_in(Role.SENDER))


@pytest.fixture
def campaign(project: Project, fcm: Fcm) -> Campaign:
    make_people(project, addresses(live=97, dead=8))
    return make_campaign(project, name="Summer")


def test_the_dialog_says_what_it_costs_and_how_exact_it_is(desk: Desk, campaign: Campaign) -> None:
    page = desk.open(DIALOG, campaign.pk)
    assert "delivers none" in page
    assert "a sample of 1,000 is 0.2 % of a minute's 600,000" in page
    assert "1.4 points, give or take, where 5 % are dead, in a sample of 1,000." in page
    assert "105 requests" in page


def test_a_sample_is_rehearsed_and_shown(desk: Desk, campaign: Campaign) -> None:
    reply = desk.confirm(DIALOG, campaign.pk, of="sample", size="100")
    rehearsal = Rehearsal.objects.get()
    assert reply["HX-Redirect"] == reverse("admin:rehearsal_one", args=[rehearsal.pk])
    assert messages_of(reply) == [
        f"Rehearsal {rehearsal.pk} of “Summer” has begun. No phone gets anything."
    ]
    assert (rehearsal.sample, rehearsal.retires) == (100, False)
    drive(rehearsal.run)

    page = desk.open("rehearsal_one", rehearsal.pk)
    assert "with 95 % certainty" in page
    assert "100 of 105 devices, by chance" in page
    assert "100 requests: 0.02 % of what FCM allows in a minute (600,000)." in page
    entry = AuditEntry.objects.get(action="rehearsed")
    assert entry.detail["rehearsal"] == rehearsal.pk


def test_everybody_only_after_a_confirmation(desk: Desk, campaign: Campaign) -> None:
    reply = desk.confirm(DIALOG, campaign.pk, of="everybody", size="1000")
    assert "Confirm what it costs, or choose a sample." in reply.content.decode()
    assert not Rehearsal.objects.exists()

    desk.confirm(DIALOG, campaign.pk, of="everybody", confirmed="on", retires="on")
    rehearsal = Rehearsal.objects.get()
    assert (rehearsal.sample, rehearsal.retires) == (None, True)
    drive(rehearsal.run)
    page = desk.open("rehearsal_one", rehearsal.pk)
    assert "Of all 105 devices, FCM would accept the message for 97." in page
    assert "FCM called 8 of 105 addresses dead: 7.6 %." in page
    assert "8 devices were retired, as asked." in page
    assert Device.objects.exclude(retired_at=None).count() == 8


@pytest.mark.parametrize("size", ["", "3", "1000000", "many"])
def test_a_size_that_says_nothing_is_refused(desk: Desk, campaign: Campaign, size: str) -> None:
    reply = desk.confirm(DIALOG, campaign.pk, of="sample", size=size)
    assert reply.status_code == 200 and "HX-Redirect" not in reply
    assert not Rehearsal.objects.exists()


def test_a_second_one_is_refused_while_the_first_goes_on(desk: Desk, campaign: Campaign) -> None:
    first = ask(campaign)
    said = f"Rehearsal {first.pk} of this campaign goes on."
    assert said in desk.open(DIALOG, campaign.pk)
    reply = desk.confirm(DIALOG, campaign.pk, of="sample", size="100")
    assert said in reply.content.decode()
    assert Rehearsal.objects.count() == 1


def test_payload_errors_are_shown_by_field(desk: Desk, project: Project, fcm: Fcm) -> None:
    owner_of(project, "live-1:a", attributes={"first_name": "x" * 5_000})
    owner_of(project, "live-2:a", attributes={"first_name": "Ada", "page": "http://x.org/a.png"})
    owner_of(project, "live-3:a", attributes={"first_name": "Ada", "page": "https://x.org/a.png"})
    template = {"title": "{{ first_name }}", "body": "Hi", "image": "{{ page | default: '' }}"}
    rehearsal = rehearse(make_campaign(project, template=template))
    page = desk.open("rehearsal_one", rehearsal.pk)
    assert "message 1 The rendered message is over FCM's 4,096 bytes" in page
    assert "message.notification.image 1 This person's message breaks one of FCM's rules" in page
    kept = Rehearsal.objects.get().errors
    assert kept is not None and {field for _, field, _, _ in kept} == {
        "message", "message.notification.image"
    }  # fmt: skip


def test_missing_values_are_shown_with_how_many_lack_them(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    rehearsal = rehearse(make_campaign(project, template={"title": "{{ city }}", "body": "x"}))
    page = desk.open("rehearsal_one", rehearsal.pk)
    assert "city 3 A value the text needs is missing for this person" in page


def test_one_that_waits_for_a_person_says_why_and_goes_on(
    desk: Desk, project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(vague=120))
    rehearsal = rehearse(make_campaign(project))
    page = desk.open("rehearsal_one", rehearsal.pk)
    assert "FCM refuses this message, whoever it is for." in page
    desk.confirm("rehearsal_resume", rehearsal.pk)
    rehearsal.run.refresh_from_db()
    assert rehearsal.run.state == "rehearsing"
    assert AuditEntry.objects.filter(action="resumed the rehearsal of").exists()


def test_it_can_be_cancelled(desk: Desk, campaign: Campaign) -> None:
    rehearsal = ask(campaign)
    engine.advance(rehearsal.pk, now=clock.now())
    assert "Cancel the rehearsal" in desk.open("rehearsal_one", rehearsal.pk)
    desk.confirm("rehearsal_cancel", rehearsal.pk)
    rehearsal.run.refresh_from_db()
    assert rehearsal.run.state == "cancelled"
    engine.advance(rehearsal.pk, now=clock.now())
    assert "foretells nothing" in desk.open("rehearsal_one", rehearsal.pk)


def test_what_cannot_be_done_any_more_is_refused_in_the_dialog(
    desk: Desk, campaign: Campaign
) -> None:
    rehearsal = rehearse(campaign)
    for verb in ("rehearsal_resume", "rehearsal_cancel"):
        reply = desk.confirm(verb, rehearsal.pk)
        assert reply.status_code == 200 and "HX-Redirect" not in reply
        assert "A finished run cannot" in reply.content.decode()
    rehearsal.run.refresh_from_db()
    assert rehearsal.run.state == "finished"


def test_a_viewer_looks_and_does_nothing(campaign: Campaign) -> None:
    rehearsal = ask(campaign)
    viewer = Desk(logged_in(Role.VIEWER))
    assert "Cancel the rehearsal" not in viewer.open("rehearsal_one", rehearsal.pk)
    assert viewer.confirm("rehearsal_cancel", rehearsal.pk).status_code == 403
    assert viewer.confirm(DIALOG, campaign.pk, of="sample", size="100").status_code == 403
    assert "Rehearse …" not in viewer.open("campaign_review", campaign.pk)


def test_the_review_offers_it_and_lists_the_last_ones(desk: Desk, campaign: Campaign) -> None:
    page = desk.open("campaign_review", campaign.pk)
    assert "Not rehearsed yet." in page and "Rehearse …" in page
    rehearsal = rehearse(campaign)
    page = desk.open("campaign_review", campaign.pk)
    assert f"Rehearsal {rehearsal.pk} Finished" in page and "everybody" in page
    assert f"Rehearsal {rehearsal.pk}" in desk.open("rehearsals_of_campaign", campaign.pk)


def test_the_list_of_a_campaign_is_paged(
    desk: Desk, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 1)
    first, second = rehearse(campaign, sample=100), rehearse(campaign)
    page = desk.open("rehearsals_of_campaign", campaign.pk)
    assert f"Rehearsal {second.pk}" in page and f"Rehearsal {first.pk}" not in page
    page = desk.open("rehearsals_of_campaign", campaign.pk, after=second.pk)
    assert f"Rehearsal {first.pk}" in page


def test_the_real_run_shows_how_it_was_foretold(desk: Desk, campaign: Campaign) -> None:
    rehearsal = rehearse(campaign)
    run = launch(campaign)
    page = desk.open("campaigns_run_change", run.pk)
    assert "Yes: every number of the run is within 1 % of the rehearsal's." in page
    assert f"Open rehearsal {rehearsal.pk}" in page
    assert f"Open run {run.pk}" in desk.open("rehearsal_one", rehearsal.pk)


def test_a_run_that_was_not_rehearsed_says_nothing(desk: Desk, campaign: Campaign) -> None:
    assert "As rehearsed?" not in desk.open("campaigns_run_change", launch(campaign).pk)


def test_retired_devices_are_taken_back(desk: Desk, campaign: Campaign) -> None:
    rehearsal = rehearse(campaign, retires=True)
    assert "Take back retired devices" in desk.open("rehearsal_one", rehearsal.pk)
    desk.confirm("rehearsal_restore", rehearsal.pk)
    assert not Device.objects.exclude(retired_at=None).exists()
    assert "Take back retired devices" not in desk.open("rehearsal_one", rehearsal.pk)
