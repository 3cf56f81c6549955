"""A project may have its links counted: its messages then lead through us to the very same page."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.runs.run import Run
from campaigns.sending import message_settings
from campaigns.texts.rendering import Reader, Unrenderable
from campaigns.texts.template import Template
from notifications.fcm import sizes
from notifications.fcm.payload import as_fcm
from notifications.keys import counted_link
from notifications.people.project import Project

OURS = "https://push.example.com"
PAGE = "https://shop.example/{{ city }}?who={{ external_id }}"
ADAS = "https://shop.example/서울?who=ada"
PLATFORMS = ("android", "ios", "web")


@pytest.fixture(autouse=True)
def reached(settings: LazySettings) -> None:
    settings.PHONES_URL = OURS


def sent(counts_links: str, platform: str, link: str = PAGE, **options: Any) -> dict[str, Any]:
    """As FCM gets it."""
    content = Template(title="Hello", body="You have mail", link=link).frozen()
    run = Run(
        project=Project(counts_links=counts_links), content={**content, "options": options},
        started_at=timezone.now(), ttl_seconds=60,
    )  # fmt: skip
    reader = Reader("81:7", "ada", {"city": "서울"}, "ko", "UTC", "token", "live1:APA91b", platform)
    return as_fcm(message_settings.of_run(run)[None].renderer.render(reader, ttl_seconds=60))


def leads_to(address: str) -> tuple[str, str]:
    found = counted_link.parse(address.removeprefix(f"{OURS}/o/"))
    assert found is not None
    return found.reference, found.target


def test_a_browser_is_led_through_us_and_an_app_finds_the_link_as_it_was_written() -> None:
    message = sent("web", "web")
    assert leads_to(message["webpush"]["fcm_options"]["link"]) == ("81:7", ADAS)
    assert message["data"]["link"] == ADAS
    for platform in ("android", "ios"):
        assert sent("web", platform) == sent("", platform)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_link_leads_through_us_if_the_project_asks(platform: str) -> None:
    message = sent("every", platform)
    assert leads_to(message["data"]["link"]) == ("81:7", ADAS)
    if platform == "web":
        assert message["webpush"]["fcm_options"]["link"] == message["data"]["link"]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("link", ["", "shop://offers/{{ city }}"])
def test_what_no_browser_opens_is_sent_as_it_was_written(platform: str, link: str) -> None:
    assert sent("every", platform, link) == sent("", platform, link)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["", "http://127.0.0.1:8001"])
def test_without_an_address_that_fcm_takes_no_link_is_counted(
    settings: LazySettings, address: str
) -> None:
    settings.PHONES_URL = address
    assert sent("every", "web") == sent("", "web")
    with pytest.raises(ValidationError, match="sets PUBLIC_URL"):
        Project(counts_links="web", name="Shop", firebase_project_id="shop-demo").clean()


def test_a_link_that_phones_refuse_is_refused_as_it_is_without_us() -> None:
    for link in ("https:///{{ city }}", "javascript:alert({{ city }})"):
        said = []
        for counts in ("", "every"):
            with pytest.raises(Unrenderable) as refused:
                sent(counts, "web", link)
            said.append(refused.value.detail)
        assert said[0] == said[1]


def test_the_bytes_of_our_address_count() -> None:
    plain, counted = (sizes.measure(sent(counts, "web"))["the web"] for counts in ("", "web"))
    way = sent("web", "web")["webpush"]["fcm_options"]["link"]
    assert counted == plain + len(way)
    long = "https://shop.example/{{ external_id }}/" + "x" * 2_000
    assert sent("", "web", long)
    with pytest.raises(Unrenderable, match="bytes on the web"):
        sent("web", "web", long)


@given(st.text(st.characters(blacklist_categories=["Cs"]), max_size=300))
def test_whatever_a_link_holds_comes_out_as_it_was_and_fits_a_header(more: str) -> None:
    target = f"https://shop.example/{more}"
    (reference, found) = leads_to(counted_link.link_through_us("81:7", target))
    assert (reference, found) == ("81:7", target)
    header = counted_link.as_header(found)
    assert header.isascii() and header.isprintable() and " " not in header
