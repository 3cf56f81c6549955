"""In step When a calendar file is chosen; its days are put among those that are left out."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse

from campaigns.planning.campaign import Campaign
from tests.admin.desk import Desk, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]

FILE = (
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Chuseok\r\nDTSTART;VALUE=DATE:20311001\r\n"
    "DTEND;VALUE=DATE:20311003\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.fixture(autouse=True)
def in_may() -> Any:
    with time_machine.travel("2031-05-07T09:00:00Z", tick=False):
        yield


def give(desk: Desk, content: bytes, typed: str = "") -> HttpResponse:
    file = SimpleUploadedFile("holidays.ics", content)
    return desk.post("campaign_holidays", holidays=file, days_off=typed)


def test_the_days_of_a_file_stand_beside_those_that_were_typed(desk: Desk) -> None:
    reply = give(desk, FILE.encode(), typed="2031-12-25\n2031-10-02")
    assert "2 days were taken from the file: 2031-10-01, 2031-10-02." in text_of(reply)
    field = reply.content.decode().partition("<textarea")[2].partition("</textarea>")[0]
    assert field.split(">")[1].split() == ["2031-10-01", "2031-10-02", "2031-12-25"]
    assert 'id="id_days_off"' in field and 'hx-swap-oob="true"' in field
    assert "days-off" in reply["HX-Trigger-After-Settle"], "the next times are looked at again"
    assert not Campaign.objects.exists()


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


def test_nothing_chosen_is_asked_for(desk: Desk) -> None:
    assert "Choose a calendar file" in text_of(desk.post("campaign_holidays", days_off=""))
