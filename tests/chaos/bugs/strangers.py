"""What F107 to F110 must notice."""

from __future__ import annotations

import sys

from tests.chaos.bug import bug, patch

WEB, FEED = "config.asgi", "config.feed.server"


@bug("logs each refused form", fault="F107")
def _each_logged() -> None:
    from notifications.requests import counted_lines

    patch(counted_lines.Interval, "count", lambda _: 0)
    patch(counted_lines, "LONGEST", 1_000_000)


@bug("keeps each name of an encoding", fault="F108")
def _each_kept() -> None:
    """As Python does by itself."""
    import codecs
    import encodings

    from config.boot.encodings import search

    codecs.unregister(search)
    codecs.register(encodings.search_function)


@bug("an address may hold every socket", fault="F109")
def _every_socket() -> None:
    if FEED not in sys.modules:
        return
    from config.feed.address_limits import SocketLimits

    patch(SocketLimits, "hold", lambda *_: True)
    patch(SocketLimits, "let_go", lambda *_: None)


@bug("right passwords are not counted", fault="F110")
def _not_counted() -> None:
    if WEB not in sys.modules:
        return
    from notifications.staff.login_throttle import LIMITS, By, Kind

    del LIMITS[Kind.PASSWORD][By.RIGHT]
