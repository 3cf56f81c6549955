"""A message to FCM."""

from __future__ import annotations

from notifications.gateway import Push

APP = "1:1234567890:android:321abc456def7890"


def message(number: int, **values: str) -> Push:
    address = values.pop("address", f"live{number}:APA91b")
    defaults = {"kind": "token", "platform": "android", "title": "x"}
    return Push(reference=f"81:{number}", address=address, **{**defaults, **values})  # type: ignore[arg-type]
