"""Which language one gets, how it is kept, and what each language does with times."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation

from notifications.values.moments import in_words, in_zone, seconds_of

LOGIN = "/admin/login/"
MOMENT = datetime(2026, 11, 21, 6, 5, 9, tzinfo=UTC)


def lang(client: Client, **headers: str) -> str:
    html = client.get(LOGIN, headers=headers).content.decode()
    return html.partition('<html lang="')[2][:2]


# --- Which one ----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_browsers_language_is_spoken_and_english_when_it_is_none_of_ours(client: Client) -> None:
    assert lang(client) == "en"
    assert lang(client, accept_language="ko-KR,ko;q=0.9,en;q=0.8") == "ko"
    assert lang(client, accept_language="de-DE,de;q=0.9") == "en"


@pytest.mark.django_db
def test_what_somebody_chose_is_kept_for_a_year_and_beats_the_browser(client: Client) -> None:
    reply = client.post(reverse("set_language"), {"language": "ko", "next": LOGIN})
    assert (reply.status_code, reply["Location"]) == (302, LOGIN)
    cookie = reply.cookies["django_language"]
    assert (cookie["max-age"], cookie["samesite"]) == (365 * 24 * 3600, "Lax")
    assert lang(client, accept_language="en") == "ko"
    client.post(reverse("set_language"), {"language": "en", "next": LOGIN})
    assert lang(client, accept_language="ko") == "en"


@pytest.mark.django_db
def test_the_choice_leads_nowhere_else_and_needs_a_token() -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("set_language"), {"language": "ko"}).status_code == 403
    asked = {"language": "ko", "next": "https://example.com/"}
    assert Client().post(reverse("set_language"), asked)["Location"] == "/"


@pytest.mark.django_db
def test_every_page_offers_the_other_language_in_its_own_words(admin_client: Client) -> None:
    offered = '<button class="c-language" type="submit" name="language" value="ko" lang="ko">한국어'
    for page in ("/admin/", "/admin/campaigns/run/", "/admin/notifications/project/add/"):
        assert offered in admin_client.get(page).content.decode()
    assert offered in Client().get(LOGIN).content.decode()
    admin_client.cookies["django_language"] = "ko"
    korean = admin_client.get("/admin/").content.decode()
    assert 'lang="en">English' in korean and offered not in korean


@pytest.mark.django_db
def test_what_programs_read_is_english_whoever_calls(client: Client) -> None:
    client.cookies["django_language"] = "ko"
    for path in ("/api/v1/runs", "/healthz", "/readyz", "/metrics"):
        reply = client.get(path, headers={"accept-language": "ko"})
        assert reply.content.decode().isascii() or max(reply.content.decode()) < "가", path


# --- Times --------------------------------------------------------------------------------------


def test_a_time_is_written_as_the_language_writes_it() -> None:
    assert in_zone(MOMENT, "Asia/Seoul") == "21 Nov 2026, 15:05 Asia/Seoul"
    with translation.override("ko"):
        assert in_zone(MOMENT, "Asia/Seoul") == "2026년 11월 21일 오후 3:05 Asia/Seoul"
        assert in_zone(MOMENT, "UTC", seconds=True) == "2026년 11월 21일 오전 6:05:09 UTC"


@pytest.mark.parametrize("seconds", [0, 45, 60, 4_800, 86_400, 2 * 86_400 + 3_600, 28 * 86_400])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_duration_said_can_be_typed_back(language: str, seconds: int) -> None:
    with translation.override(language):
        assert seconds_of(in_words(seconds)) == seconds


def test_a_duration_is_understood_in_korean_whatever_the_pages_speak() -> None:
    assert in_words(5_400) == "1 h 30 min"
    assert seconds_of("1시간 30분") == 5_400
    assert seconds_of("2주") == 14 * 86_400
    with translation.override("ko"):
        assert in_words(5_400) == "1시간 30분"
        assert seconds_of("90 min") == 5_400
    assert seconds_of("세 시간") is None
