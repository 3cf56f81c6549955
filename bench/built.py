"""What it saves to encode FCM's JSON once for a message: `python -m bench.built`.

Rendering, checking and encoding, in one process, without a socket or a row. Both ways take turns in
the same run, in CPU time, so that what else the machine does touches neither: compare the ratio.
"""

from __future__ import annotations

import os
import statistics
import time

import django

from bench.senders.message import BODY, LINK, TITLE, TTL_SECONDS, token

ROUNDS, MESSAGES = 15, 4_000
CONTENT = {
    "title": TITLE,
    "body": BODY.replace("Kim", "{{ first_name }}"),
    "image": "",
    "link": LINK,
    "data": {},
    "options": {},
    "locales": {},
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    for platform in ("android", "ios", "web"):
        costs = [(_cost(platform, once=True), _cost(platform, once=False)) for _ in range(ROUNDS)]
        once, twice = map(statistics.median, zip(*costs, strict=True))
        ratio = statistics.median(one / two for one, two in costs)
        print(f"{platform:8} once {once:5.1f} µs, twice {twice:5.1f} µs, ratio {ratio:.2f}")


def _cost(platform: str, *, once: bool) -> float:
    """CPU microseconds a message, from a person to the bytes of the request."""
    from campaigns.texts.rendering import Reader, Renderer  # not before `setup`
    from notifications.fcm import payload

    renderer = Renderer(CONTENT, collapse_id="carillon-1")
    readers = [
        Reader(f"1:{n}", f"u{n}", {"first_name": "Kim"}, "en", "UTC", "token", token(n), platform)
        for n in range(MESSAGES)
    ]
    began = time.process_time()
    for reader in readers:
        message = renderer.render(reader, ttl_seconds=TTL_SECONDS)
        if not once:
            message.encoded = b""
        payload.encode(message)
    return (time.process_time() - began) * 1e6 / MESSAGES


if __name__ == "__main__":
    main()
