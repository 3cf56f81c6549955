"""The one push that every sender of the table sends: as large as the demo's, to a made-up phone."""

from __future__ import annotations

from typing import Any

import orjson

# A real registration token has about 160 characters.
TOKEN_TAIL = ":APA91b" + "x" * 140
TITLE = "Our shop opens early"
BODY = "Good morning, Kim! The first hundred guests get a coffee, and you live around the corner."
LINK = "https://shop.example.com/opening?from=push"
TAG = "run-1"
TTL_SECONDS = 3600


def token(number: int) -> str:
    return f"bench{number}{TOKEN_TAIL}"


def data(number: int) -> dict[str, str]:
    return {"link": LINK, "carillon_id": f"bench:{number}"}


def wire(number: int) -> dict[str, Any]:
    """The JSON that FCM gets."""
    return {
        "token": token(number),
        "notification": {"title": TITLE, "body": BODY},
        "data": data(number),
        "android": {
            "priority": "high",
            "ttl": f"{TTL_SECONDS}s",
            "notification": {"tag": TAG},
        },
    }


def body(number: int) -> bytes:
    """A whole request's, ready to leave."""
    return orjson.dumps({"message": wire(number)})
