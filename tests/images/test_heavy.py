"""Before a launch it is said when its phones would fetch too much from this very server."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from campaigns.launch_check.image_load import too_much
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from notifications.images import image as images
from notifications.people.project import Project
from tests.given.builders import make_campaign
from tests.images.pictures import png, upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(project: Project) -> Campaign:
    made = images.keep(project, upload(png(more=b"x" * 200_000)), by="user:alice")
    return make_campaign(project, template={"locales": {"ko": {"image": made.address}}})


def test_many_phones_in_a_short_time_are_a_doubt(campaign: Campaign) -> None:
    [doubt] = too_much(campaign, 400_000, 50.0)
    assert doubt.code == "heavy_image"
    assert str(doubt).startswith(
        "400,000 phones fetch the image (201 KB) from this server as they are sent to: about 8,000 "
        "a second, 1,60"
    )


def test_few_phones_or_a_slow_rate_are_none(campaign: Campaign) -> None:
    assert too_much(campaign, 1_999, 1.0) == []
    assert too_much(campaign, 400_000, 36_000.0) == []


def test_an_image_behind_a_cdn_is_none_and_one_with_the_address_from_before_is_still(
    campaign: Campaign, project: Project, settings: LazySettings
) -> None:
    settings.IMAGES_URL = "https://cdn.example.com/i"
    assert len(too_much(campaign, 400_000, 50.0)) == 1
    behind = images.keep(project, upload(png(80, more=b"x" * 200_000)), by="user:alice")
    text = {"image": behind.address}
    assert behind.address.startswith("https://cdn.example.com/i/")
    assert too_much(make_campaign(project, template=text), 400_000, 50.0) == []


def test_an_image_from_elsewhere_is_none_of_ours(project: Project) -> None:
    text = {"image": "https://cdn.example.com/a.png"}
    assert too_much(make_campaign(project, template=text), 400_000, 50.0) == []


def test_only_the_readers_of_a_variant_with_an_image_fetch_it(
    campaign: Campaign, project: Project
) -> None:
    heavy = campaign.template
    light = make_campaign(project, template={"title": "no image"}, weight=90, control_percent=50)
    campaign_variants.choose(light, [(heavy, 10)])
    [doubt] = too_much(light, 400_000, 50.0)
    assert str(doubt).startswith("20,000 phones fetch the image"), "a tenth of those not left out"
    assert too_much(light, 39_000, 1.0) == []
