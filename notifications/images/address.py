"""Where phones find an image of ours, and which addresses are of one.

The address that goes to FCM is always https. Our own pages load the same bytes from themselves:
so they show an image before any proxy in front speaks TLS, as on a laptop.
"""

from __future__ import annotations

import re

from django.conf import settings

PATH = "/i/"
NAME = re.compile(r"[0-9a-f]{40}\.(?:png|jpg|webp)")


def address_of(name: str) -> str:
    """Empty while nobody has said how we are reached."""
    return f"{settings.IMAGES_URL}/{name}" if settings.IMAGES_URL else ""


def name_in(address: str) -> str:
    """The name of the image of ours at this address; empty if it is another's."""
    start = f"{settings.IMAGES_URL}/"
    name = address.removeprefix(start)
    return name if settings.IMAGES_URL and name != address and NAME.fullmatch(name) else ""


def on_our_pages(address: str) -> str:
    """Where a page of ours loads it from; other images from their own address."""
    name = name_in(address)
    return f"{PATH}{name}" if name else address


def served_by_us() -> bool:
    """Whether phones fetch images from this very server, and not from a CDN or a bucket."""
    ours = settings.PUBLIC_URL.partition("//")[2]
    return bool(ours) and settings.IMAGES_URL.partition("//")[2] == f"{ours}{PATH.rstrip('/')}"
