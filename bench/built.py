"""What one message costs before it leaves: `python -m bench.built`.

Rendering, checking and encoding, in one process, without a socket or a row, in CPU time. First what
it saves to encode FCM's JSON once, then texts of several kinds. All ways take turns in the same
run, so that what else the machine does touches all alike: compare the ratios.
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

# Bodies, each with what may be spent on filling it in.
BODIES = {
    "plain": ("Hi {{ first_name }}, {{ points }} points", 10),
    "two filters": ("Hi {{ first_name | default: 'there' }}, {{ city | upcase }}", 35),
    "a date": ("Hi {{ first_name }}, see you on {{ ends_at | date: 'day' }}", 60),
    "a date by letters": ("Hi {{ first_name }}, see you on {{ ends_at | date: '%-d %B' }}", 60),
    "money": ("Hi {{ first_name }}, {{ price | currency: 'EUR' }}", 60),
    "a number and its word": ("{{ points | number }} {{ points | plural: other: 'x' }}", 60),
}
ATTRIBUTES = {
    "first_name": "Kim", "points": 1_234, "city": "Seoul", "price": 9.9,
    "ends_at": "2026-12-05T12:00:00Z",
}  # fmt: skip
LOCALES = ("en", "de", "ko", "pt-BR")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    _encoded()
    _filled_in()


def _filled_in() -> None:
    """Each text beside the same without a value in it."""
    bodies = {"no value": "Hi Kim", **{name: body for name, (body, _) in BODIES.items()}}
    rounds = [{name: _cost_of(body) for name, body in bodies.items()} for _ in range(ROUNDS)]
    costs = {name: statistics.median(one[name] for one in rounds) for name in bodies}
    for name, (_, most) in BODIES.items():
        own = costs[name] - costs["no value"]
        print(f"{name:22} {own:5.1f} µs to fill in, {costs[name]:5.1f} µs whole; at most {most}")


def _cost_of(body: str) -> float:
    from campaigns.texts.rendering import Reader, Renderer  # not before `setup`

    renderer = Renderer({**CONTENT, "title": "Hello", "body": body}, collapse_id="carillon-1")
    readers = [
        Reader(
            f"1:{n}", f"u{n}", ATTRIBUTES, LOCALES[n % len(LOCALES)], "Asia/Seoul", "token",
            token(n), "android",
        )
        for n in range(MESSAGES)
    ]  # fmt: skip
    began = time.process_time()
    for reader in readers:
        renderer.render(reader, ttl_seconds=TTL_SECONDS)
    return (time.process_time() - began) * 1e6 / MESSAGES


def _encoded() -> None:
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
