"""In step When a calendar file is chosen; its days are put among those that are left out."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign
from tests.given.campaign_form import CHANGE, form
from tests.planning.pages.calendar_file import FILE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]


@pytest.fixture(autouse=True)
def in_may() -> Any:
    with time_machine.travel("2031-05-07T09:00:00Z", tick=False):
        yield


def give(desk: Desk, content: bytes, typed: str = "") -> HttpResponse:
    file = SimpleUploadedFile("holidays.ics", content)
    return desk.post("campaign_holidays", holidays=file, days_off=typed)


def test_the_days_of_a_file_stand_beside_those_that_were_typed(desk: Desk) -> None:
    reply = give(desk, FILE.encode(), typed="2031-12-25\n2031-10-02 Family")
    assert "2 days were added: 2031-10-01 Chuseok, 2031-10-02 Chuseok." in text_of(reply)
    field = reply.content.decode().partition("<textarea")[2].partition("</textarea>")[0]
    assert field.split(">")[1].strip().splitlines() == [
        "2031-10-01 Chuseok", "2031-10-02 Family", "2031-12-25",
    ]  # fmt: skip
    assert 'id="id_days_off"' in field and 'hx-swap-oob="true"' in field
    assert "days-off" in reply["HX-Trigger-After-Settle"], "the next times are looked at again"
    assert not Campaign.objects.exists()


def test_an_entry_that_cannot_be_read_is_named_and_the_others_are_added(desk: Desk) -> None:
    odd = "BEGIN:VEVENT\r\nSUMMARY:Thanks<b>giving\r\nDTSTART;VALUE=DATE:20311126\r\n"
    odd += "RRULE:FREQ=YEARLY;BYDAY=4TH\r\nEND:VEVENT\r\nEND:VCALENDAR"
    reply = give(desk, FILE.replace("END:VCALENDAR", odd).encode())
    said = text_of(reply)
    assert "2 days were added" in said
    assert "Not added: “Thanks<b>giving”." in said and "<b>" not in reply.content.decode()


@pytest.mark.parametrize(
    ("content", "typed", "said"),
    [
        (b"\x89PNG\r\n", "", "it is no UTF-8 text"),
        (b"date\n2031-12-25", "", "does not begin with BEGIN:VCALENDAR"),
        (b"BEGIN:VCALENDAR" + b"\n" * 1_000_000, "", "at most 1 MB"),
        (FILE.encode(), "Xmas", "“Xmas” is no date"),
    ],
)
def test_a_wrong_file_is_told_so_and_leaves_what_was_typed(
    desk: Desk, content: bytes, typed: str, said: str
) -> None:
    reply = give(desk, content, typed)
    assert said in text_of(reply)
    assert "<textarea" not in reply.content.decode(), "it stays as it is"


def test_their_names_are_kept_shown_and_taken_out_again(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, name="Digest")
    daily = {"schedule_kind": "recurring", "repeat": "daily", "at": "2031-05-08T09:00"}
    typed = "2031-12-25 Christmas Day\r\n2031-12-26"
    desk.save(CHANGE, campaign.pk, **form(campaign, **daily, days_off=typed))
    campaign.refresh_from_db()
    assert campaign.days_off == "2031-12-25\n2031-12-26"
    assert campaign.holiday_names == {"2031-12-25": "Christmas Day"}
    page = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/change/?step=when")
    assert "2031-12-25 Christmas Day\n2031-12-26</textarea>" in page.content.decode()
    assert "without 2 days off" in desk.open("campaign_review", campaign.pk)
    december = desk.open("campaigns_calendar", day="2031-12-01")
    assert "Christmas Day: without “Digest”" in december
    assert "Day off: without “Digest”" in december
    assert "Days off in 2031 Digest 25 Dec Christmas Day, 26 Dec" in december

    campaign.full_clean()
    assert campaign.holiday_names, "nobody took it out"
    desk.save(CHANGE, campaign.pk, **form(campaign, **daily, days_off="2031-12-25"))
    campaign.refresh_from_db()
    assert (campaign.days_off, campaign.holiday_names) == ("2031-12-25", {})


def test_nothing_chosen_is_asked_for(desk: Desk) -> None:
    assert "Choose a calendar file" in text_of(desk.post("campaign_holidays", days_off=""))


def test_the_public_holidays_of_a_country_stand_beside_those_that_were_typed(desk: Desk) -> None:
    closed = desk.post("campaign_holidays", days_off="").content.decode()
    assert "Add public holidays" in closed and "public_country" not in closed
    opened = desk.post("campaign_holidays", public="show", timezone="Europe/Berlin")
    html = opened.content.decode()
    assert '<option value="DE" selected>Germany</option>' in html and "Bayern" in html
    assert '<option value="2032" selected>2031–2032</option>' in html
    assert "<textarea" not in html, "nothing is added yet"

    chosen = {"public_country": "KR", "public_part": "", "public_until": "2031"}
    added = desk.post(
        "campaign_holidays", public="add", days_off="2031-12-25 Office party\n2031-12-31", **chosen
    )
    field = added.content.decode().partition("<textarea")[2].partition("</textarea>")[0]
    lines = field.split(">")[1].strip().splitlines()
    assert lines[-2:] == ["2031-12-25 Office party", "2031-12-31"], "what was typed is kept"
    assert "2031-05-06 Children&#x27;s Day" not in lines and "2031-06-06 Memorial Day" in lines
    assert f"{len(lines) - 1} days were added: " in text_of(added)
    assert '<option value="KR" selected>' in added.content.decode(), "for another country"


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"public_country": ""}, "Choose a country."),
        ({"public_country": "XX"}, "“XX” is no country with known holidays"),
        ({"public_country": "KR", "public_part": "BY"}, "“BY” is no part of KR"),
        ({"public_country": "KR", "public_until": "1999"}, "Choose a year from 2031 to 2036."),
        ({"public_country": "KR", "days_off": "Xmas"}, "“Xmas” is no date"),
    ],
)
def test_holidays_that_cannot_be_chosen_say_why(
    desk: Desk, chosen: dict[str, str], said: str
) -> None:
    reply = desk.post("campaign_holidays", public="add", **chosen)
    assert said in text_of(reply) and "<textarea" not in reply.content.decode()


def test_a_file_leaves_the_choice_of_a_country_as_it_is(desk: Desk) -> None:
    file = SimpleUploadedFile("holidays.ics", FILE.encode())
    reply = desk.post("campaign_holidays", holidays=file, days_off="", public_country="JP")
    assert '<option value="JP" selected>' in reply.content.decode()
    assert "2 days were added" in text_of(reply)
