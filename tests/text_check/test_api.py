"""A program has a campaign's texts checked, watches, cancels, and reads what was found."""

from __future__ import annotations

import pytest

from campaigns import tasks
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import TextCheck
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_project
from tests.text_check.reading import make_reader

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def campaign(project: Project) -> Campaign:
    make_reader(project, "has", city="Seoul")
    make_reader(project, "lacks", "ko", "ios")
    return make_campaign(project, template={"title": "Hi", "body": "In {{ city }}"})


def place(campaign: Campaign) -> str:
    return f"campaigns/{campaign.pk}/text-check"


def test_it_is_begun_watched_and_read(call: Caller, campaign: Campaign) -> None:
    assert call.get(place(campaign)).status_code == 404
    begun = call.post(place(campaign), {})
    assert begun.status_code == 202
    said = begun.json()
    assert (said["state"], said["percent"], said["report"]) == ("waiting", 0, None)
    tasks.check_texts(said["id"])
    told = call.get(place(campaign)).json()
    assert (told["state"], told["percent"], told["devices_read"]) == ("finished", 100, 2)
    report = told["report"]
    assert report["totals"] == {
        "devices": 2, "out": 0, "skipped": 1, "sent_to": 1, "with_default": 0
    }  # fmt: skip
    (finding,) = report["findings"]
    assert finding["contacts"] == ["lacks"] and finding["variable"] == "city"
    assert (finding["code"], finding["level"], finding["devices"]) == ("missing", "wrong", 1)
    (readers,) = report["texts"]
    assert (readers["text"], readers["languages"]) == ("", {"en": 1, "ko": 1})
    by = {line["platform"]: (line["title"], line["body"]) for line in report["longest"]}
    assert by == {"android": (2, 8), "ios": (None, None)}
    assert report["stale"] == []
    entry = AuditEntry.objects.get(action="had the texts checked of")
    assert entry.actor == f"key:{call.row.prefix}"


def test_a_second_one_is_refused_until_the_first_is_cancelled(
    call: Caller, campaign: Campaign
) -> None:
    call.post(place(campaign), {})
    refused = call.post(place(campaign), {})
    assert refused.status_code == 422 and refused.json()["type"] == "urn:carillon:not-checked"
    assert call.post(f"{place(campaign)}/cancel").json()["state"] == "cancelled"
    assert call.post(place(campaign), {}).status_code == 202


def test_the_same_idempotency_key_begins_one(call: Caller, campaign: Campaign) -> None:
    first = call.post(place(campaign), {}, idempotency_key="a").json()
    again = call.post(place(campaign), {}, idempotency_key="a").json()
    assert first["id"] == again["id"] and TextCheck.objects.count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"same_text_within_days": 91}, "same_text_within_days"),
        ({"same_text_within_days": "x"}, "same_text_within_days"),
        ({"try_links": "perhaps"}, "try_links"),
        ({"links": True}, "links"),
    ],
)
def test_what_does_not_fit_is_named(
    call: Caller, campaign: Campaign, body: dict[str, object], field: str
) -> None:
    reply = call.post(place(campaign), body)
    assert reply.status_code == 400 and fields_at_fault(reply) == [field]
    assert not TextCheck.objects.exists()


def test_a_key_that_may_not_read_people_is_told_no_names(
    project: Project, call: Caller, campaign: Campaign
) -> None:
    call.post(place(campaign), {})
    tasks.check_texts(TextCheck.objects.get().pk)
    shy = Caller(project, ["runs"])
    (finding,) = shy.get(place(campaign)).json()["report"]["findings"]
    assert finding["contacts"] == [] and finding["devices"] == 1


def test_a_report_of_a_changed_text_says_that_it_is_stale(call: Caller, campaign: Campaign) -> None:
    call.post(place(campaign), {})
    tasks.check_texts(TextCheck.objects.get().pk)
    campaign.template.body = "Other"
    campaign.template.save()
    (stale,) = call.get(place(campaign)).json()["report"]["stale"]
    assert stale == {"code": "text", "message": "The text has changed since."}


def test_another_projects_campaign_is_not_there(campaign: Campaign) -> None:
    stranger = Caller(make_project())
    assert stranger.get(place(campaign)).status_code == 404
    assert stranger.post(place(campaign), {}).status_code == 404
    assert stranger.post(f"{place(campaign)}/cancel").status_code == 404
    assert not TextCheck.objects.exists()
