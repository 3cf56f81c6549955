"""Operations says of each Firebase project which way this machine sends."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from notifications.people.project import Project
from notifications.proxy import Proxy
from tests.admin.desk import Desk
from tests.given.builders import make_project

PROXY = Proxy("http://carol:open-sesame@proxy.example:3128")
OWN = "This machine sends over its own sockets."
PASSED_BY = "TRANSPORT=wire passes the proxy proxy.example:3128 by."


@pytest.fixture(autouse=True)
def google(project: Project, settings: LazySettings) -> None:
    """The only project sends to Google, and nobody has said how."""
    Project.objects.update(uses_emulator=False, uses_default_credentials=True)
    settings.HTTPS_PROXY, settings.NO_PROXY, settings.TRANSPORT = None, "", ""


@pytest.mark.parametrize(
    ("proxy", "transport", "said"),
    [
        (None, "", OWN),
        (None, "wire", "This machine sends over its own sockets, as TRANSPORT says."),
        (None, "aiohttp", "This machine sends with aiohttp, as TRANSPORT says."),
        (PROXY, "", "This machine sends with aiohttp, through the proxy proxy.example:3128."),
        (PROXY, "aiohttp", "sends with aiohttp, through the proxy proxy.example:3128."),
    ],
)
def test_the_way_is_said(
    desk: Desk, settings: LazySettings, proxy: Proxy | None, transport: str, said: str
) -> None:
    settings.HTTPS_PROXY, settings.TRANSPORT = proxy, transport
    page = desk.open("operations")
    assert said in page
    assert "passes the proxy" not in page and "sesame" not in page


def test_a_proxy_that_is_passed_by_is_warned_of(desk: Desk, settings: LazySettings) -> None:
    make_project(uses_emulator=False)
    settings.HTTPS_PROXY, settings.TRANSPORT = PROXY, "wire"
    page = desk.open("operations")
    assert page.count(f"{PASSED_BY} If messages have to go through it, none gets out:") == 1
    assert "This machine sends over its own sockets, as TRANSPORT says." in page
    assert "sesame" not in page


def test_each_project_has_a_way_of_its_own(desk: Desk, settings: LazySettings) -> None:
    """The emulator on this machine is behind no proxy."""
    settings.HTTPS_PROXY, settings.FCM_ENDPOINT = PROXY, "https://127.0.0.1:9099"
    make_project(name="Rehearsal", uses_default_credentials=True)
    _, _, page = desk.open("operations").partition("Firebase projects")
    rehearsal, _, shop = page.partition("Shop")
    assert "Rehearsal" in rehearsal and OWN in rehearsal
    assert "through the proxy proxy.example:3128" in shop and OWN not in shop


def test_where_nothing_can_be_sent_there_is_no_way(desk: Desk, project: Project) -> None:
    Project.objects.update(uses_default_credentials=False)
    page = desk.open("operations")
    assert "no credentials: nothing can be sent" in page and "This machine sends" not in page


def test_it_is_said_in_korean_too(desk: Desk, settings: LazySettings) -> None:
    settings.HTTPS_PROXY = PROXY
    desk.client.cookies["django_language"] = "ko"
    assert "이 서버는 프록시 proxy.example:3128를 거쳐 aiohttp로 보냅니다." in desk.open(
        "operations"
    )
