"""Image load: each phone that gets a message fetches its image from this server."""

from __future__ import annotations

from collections import defaultdict

from django.utils.translation import gettext as _

from campaigns.launch_check.warnings import Code, LaunchWarning
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import REST
from campaigns.texts.template import Template
from notifications.images.address import name_at_our_door
from notifications.images.image import Image

# One web process was seen to serve some times this much while pages stayed quick.
FETCHES, BYTES = 200, 20_000_000  # per second
FEW = 2_000  # devices; their fetches are over before anybody notices


def too_much(campaign: Campaign, devices: int, seconds: float | None) -> list[LaunchWarning]:
    """Warn if the phones' fetches would slow down the server that sends to them. `devices`: of the
    audience. `seconds`: how long sending takes, without waits."""
    texts = _count_fetches(campaign, devices)
    phones = round(sum(texts.values()))
    if phones < FEW:
        return []
    size, pace = max(texts), max(seconds or 0.0, 1.0)
    rate, traffic = phones / pace, sum(size * count for size, count in texts.items()) / pace
    if rate <= FETCHES and traffic <= BYTES:
        return []
    text = _(
        "{devices} phones fetch the image ({size} KB) from this server as they are sent to: about "
        "{rate} a second, {megabytes} MB a second, {all} MB in all. Put a CDN in front "
        "(IMAGES_URL), give the image an address elsewhere, or send slower."
    )
    words = text.format(
        devices=f"{phones:,}",
        size=f"{-(-size // 1_000):,}",
        rate=f"{rate:,.0f}",
        megabytes=f"{traffic / 1e6:,.0f}",
        all=f"{traffic * pace / 1e6:,.0f}",
    )
    return [LaunchWarning(Code.HEAVY_IMAGE, words)]


def _count_fetches(campaign: Campaign, devices: int) -> dict[int, float]:
    """Return how many phones fetch an image from here, by its size. The rest of a trial may get any
    of the texts, so it counts with the heaviest."""
    sizes = {
        wording.number: _largest_image(campaign, wording.template)
        for wording in campaign_variants.wordings(campaign)
    }
    if not any(sizes.values()):
        return {}
    shares = campaign_variants.split_of(campaign, devices).shares()
    heaviest = max(sizes, key=lambda number: sizes[number])
    fetches: dict[int, float] = defaultdict(float)
    for group, share in shares.items():
        if size := sizes.get(heaviest if group == REST else group, 0):
            fetches[size] += devices * share
    return dict(fetches)


def _largest_image(campaign: Campaign, template: Template) -> int:
    """Return the size of the largest image that phones fetch from here, in any language."""
    addresses = [template.image, *(texts.get("image", "") for texts in template.locales.values())]
    names = {name for address in addresses if (name := name_at_our_door(address))}
    sizes = Image.objects.filter(project=campaign.project_id, name__in=names)
    return max(sizes.values_list("size", flat=True), default=0) if names else 0
