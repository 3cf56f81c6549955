"""PUBLIC_URL: checked before anything starts, because phones and links use it."""

from __future__ import annotations

import re

# A host and perhaps a port. Other parts would send people elsewhere than it seems (a user before an
# “@”), or break the addresses that are built from it (a path, a query).
FORM = re.compile(
    r"(?P<scheme>https?)://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?/?"
)
HIGHEST_PORT = 65_535


def public_address(url: str, *, plain: bool) -> str:
    """The address without a slash at its end; empty stays empty. `plain` also allows http://.

    Raises ValueError with a text for the person who set it.
    """
    if not url:
        return ""
    match = FORM.fullmatch(url)
    if match is None or int(match["port"] or 0) > HIGHEST_PORT:
        raise ValueError(
            "PUBLIC_URL must be a host and perhaps a port, e.g. https://push.example.com: without "
            "a path, a user or a query, and with xn-- for what is not in ASCII."
        )
    if match["scheme"] == "http" and not plain:
        raise ValueError(
            "PUBLIC_URL must begin with https:// in production and staging: phones and browsers "
            "call it from any network, and FCM takes no other link."
        )
    return url.rstrip("/")
