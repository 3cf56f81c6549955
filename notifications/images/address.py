"""Image addresses: where phones find an uploaded image, and which addresses are ours.

The address that goes to FCM is always https. Our own pages load the same bytes from their own
server. So they show an image even if no proxy with TLS is in front, as on a laptop.
"""

from __future__ import annotations

import re

from django.conf import settings

PATH = "/i/"
NAME = re.compile(r"[0-9a-f]{40}\.(?:png|jpg|webp)")


def address_of(name: str) -> str:
    """Return the public address of an image. Empty while no public address is configured."""
    return f"{settings.IMAGES_URL}/{name}" if settings.IMAGES_URL else ""


def our_door() -> str:
    """Return the address at which phones or a CDN fetch images from this server. Empty: none is
    configured."""
    ours = settings.PUBLIC_URL.partition("//")[2]
    return f"https://{ours}{PATH.rstrip('/')}" if ours else ""


def name_in(address: str) -> str:
    """Return the name of our image at this address. Empty if the image is not ours."""
    return next(filter(None, (_below(start, address) for start in _starts())), "")


def name_at_our_door(address: str) -> str:
    """Return the image's name if phones fetch it from this server, not from a CDN or a bucket."""
    return _below(our_door(), address)


def _starts() -> tuple[str, str]:
    # A text from before there was a CDN keeps its old address.
    return settings.IMAGES_URL, our_door()


def _below(start: str, address: str) -> str:
    name = address.removeprefix(f"{start}/")
    return name if start and name != address and NAME.fullmatch(name) else ""


def on_our_pages(address: str) -> str:
    """Return the address from which our pages load an image. Other images keep their own."""
    name = name_in(address)
    return f"{PATH}{name}" if name else address
