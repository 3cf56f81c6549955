"""Links: which pages and images of the project's own hosts can still be opened.

It runs only on request, and only for hosts that the project calls its own. It never opens an
address with a person's value in it: that might do what only the person may do.
"""

from __future__ import annotations

from typing import Any

from campaigns.texts.content import Content, in_language, is_personal, languages_of
from notifications.people import images
from notifications.people.project import Project
from notifications.webhooks.transports import https_post

MOST = 20  # requests of one check
SECONDS = 45  # at most for one link: two tries of a host that does not support HEAD
GONE = (404, 410)
KINDS = ("link", "image")


def links_in(content: Content) -> list[str]:
    """Return every https address that is the same for all its readers."""
    addresses = [
        written[kind].strip()
        for tag in ("", *languages_of(content))
        for written in [in_language(content, tag)]
        for kind in KINDS
        if written[kind] and not is_personal(written[kind])
    ]
    return [
        address for address in dict.fromkeys(addresses) if address.lower().startswith("https://")
    ]


def to_try(content: Content, project: Project) -> list[str]:
    own = [address for address in links_in(content) if images.allowed(address, project.own_hosts)]
    return own[:MOST]


def untried(content: Content, project: Project) -> int:
    """Count the addresses that are not tried: of other hosts, or with values of a person."""
    personal = {
        written[kind]
        for tag in ("", *languages_of(content))
        for written in [in_language(content, tag)]
        for kind in KINDS
        if is_personal(written[kind])
    }
    return len(personal) + len(links_in(content)) - len(to_try(content, project))


def tried(url: str) -> dict[str, Any]:
    """Open one link and return the result, as it is kept."""
    answer = https_post.look(url.partition("#")[0])
    return {"url": url, "status": answer.status, "error": answer.error}


def is_dead(one: dict[str, Any]) -> bool:
    return one["status"] in GONE


def is_in_trouble(one: dict[str, Any]) -> bool:
    """Whether the link could not be opened, which may pass. A page that requires a login counts as
    working."""
    return bool(one["error"]) or (one["status"] or 0) >= 500
