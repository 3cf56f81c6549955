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


def our_door() -> str:
    """Where a phone, or a CDN, fetches images from this very server; empty: nobody has said."""
    ours = settings.PUBLIC_URL.partition("//")[2]
    return f"https://{ours}{PATH.rstrip('/')}" if ours else ""


def name_in(address: str) -> str:
    """The name of the image of ours at this address; empty if it is another's."""
    return next(filter(None, (_below(start, address) for start in _starts())), "")


def name_at_our_door(address: str) -> str:
    """The same, if phones fetch it from this very server, and not from a CDN or a bucket."""
    return _below(our_door(), address)


def _starts() -> tuple[str, str]:
    # A text that was written before there was a CDN keeps its address.
    return settings.IMAGES_URL, our_door()


def _below(start: str, address: str) -> str:
    name = address.removeprefix(f"{start}/")
    return name if start and name != address and NAME.fullmatch(name) else ""


def on_our_pages(address: str) -> str:
    """Where a page of ours loads it from; other images from their own address."""
    name = name_in(address)
    return f"{PATH}{name}" if name else address
