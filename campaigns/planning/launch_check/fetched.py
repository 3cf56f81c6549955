"""What phones fetch from this very server once they are sent to: the image, each of them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check.doubts import Code, Doubt
from notifications.images.address import name_at_our_door
from notifications.images.image import Image

# What one web process was seen to give away while pages stay quick is some times this much.
FETCHES, BYTES = 200, 20_000_000  # a second
FEW = 2_000  # devices; theirs is over before anybody notices


def too_much(campaign: Campaign, devices: int, seconds: float | None) -> list[Doubt]:
    """A warning where so many phones would slow down what sends to them."""
    if devices < FEW:
        return []
    size = _largest(campaign)
    rate = devices / max(seconds or 0.0, 1.0)
    if not size or (rate <= FETCHES and rate * size <= BYTES):
        return []
    said = _(
        "{devices} phones fetch the image ({size} KB) from this server as they are sent to: about "
        "{rate} a second, {megabytes} MB a second, {all} MB in all. Put a CDN in front "
        "(IMAGES_URL), give the image an address elsewhere, or send slower."
    )
    words = said.format(
        devices=f"{devices:,}",
        size=f"{-(-size // 1_000):,}",
        rate=f"{rate:,.0f}",
        megabytes=f"{rate * size / 1e6:,.0f}",
        all=f"{devices * size / 1e6:,.0f}",
    )
    return [Doubt(Code.HEAVY_IMAGE, words)]


def _largest(campaign: Campaign) -> int:
    """Of the images that phones fetch from here, in any language."""
    template = campaign.template
    said = [template.image, *(texts.get("image", "") for texts in template.locales.values())]
    names = {name for address in said if (name := name_at_our_door(address))}
    sizes = Image.objects.filter(project=campaign.project_id, name__in=names)
    return max(sizes.values_list("size", flat=True), default=0) if names else 0
