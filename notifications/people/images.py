"""Image hosts: from where the pages of a project load images. Phones load them from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MAX_HOSTS = 20  # a header of every page lists them
MAX_PORT = 65_535
LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"(?:\*\.)?(?:{LABEL}\.)+{LABEL}(?::[1-9][0-9]{{0,4}})?")


def in_order(hosts: Iterable[str]) -> list[str]:
    """The hosts as they are stored. A ValidationError names the first that is not a host."""
    stored = list(dict.fromkeys(host.strip().lower() for host in hosts if host.strip()))
    for host in stored:
        if len(host) > 255 or not HOST.fullmatch(host) or not _has_a_port(host):
            text = _(
                "“%(host)s” is not a host: write cdn.example.com, or *.example.com for all below."
            )
            raise ValidationError(text % {"host": host[:100]})
    if len(stored) > MAX_HOSTS:
        raise ValidationError(_("At most %(most)s hosts.") % {"most": MAX_HOSTS})
    return stored


def _has_a_port(host: str) -> bool:
    """Whether the port can exist, if the host names one."""
    _, _, port = host.partition(":")
    return not port or int(port) <= MAX_PORT


def host_of(address: str) -> str:
    """The host of an https address, with its port unless that is 443; empty if it has none."""
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if port not in (None, 443) else host


def allowed(address: str, hosts: Iterable[str]) -> bool:
    """Whether a page may load this image, as browsers judge: `*.` stands for one name or more."""
    host = host_of(address)
    return any(
        host.endswith(one[1:]) and host != one[2:] if one.startswith("*.") else host == one
        for one in hosts
    )


def refusal(address: str, project: str) -> str:
    text = _(
        "Images from “%(host)s” are not shown here. An operator can allow that host on the page of "
        "the project “%(project)s”, under “Image hosts”."
    )
    return text % {"host": host_of(address) or address[:100], "project": project}
