"""A text rendered for one person."""

from __future__ import annotations

from typing import Any

from campaigns.texts.rendering import Reader, render
from notifications.gateway import Push


def content(**values: Any) -> dict[str, Any]:
    texts = {"title": "Hi {{ first_name }}", "body": "", "image": "", "link": ""}
    return {**texts, "data": {}, "locales": {}, **values}


def reader(locale: str = "en", platform: str = "android", **attributes: Any) -> Reader:
    return Reader(
        reference="81:7",
        external_id="u1",
        attributes=attributes,
        locale=locale,
        timezone="UTC",
        kind="token",
        address="live1:APA91b",
        platform=platform,
    )


def rendered(frozen: dict[str, Any], to: Reader) -> Push:
    return render(frozen, to, collapse_id="carillon-81", ttl_seconds=3_600)
