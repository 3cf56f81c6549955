"""Links: which pages and images of the project's own hosts can still be opened.

Only on request, only hosts that the project calls its own, and never an address with a person's
value in it: to open one of those might do what only they may do.
"""

from __future__ import annotations

from typing import Any

from campaigns.texts.content import Content, in_language, is_personal, languages_of
from notifications.people import images
from notifications.people.project import Project
from notifications.webhooks.transports import https_post

MOST = 20  # requests of one check
SECONDS = 45  # that one may take at most: two tries of a host that knows no heads
GONE = (404, 410)
KINDS = ("link", "image")


def links_in(content: Content) -> list[str]:
    """Every https address that is the same for all its readers."""
    found = [
        written[kind].strip()
        for tag in ("", *languages_of(content))
        for written in [in_language(content, tag)]
        for kind in KINDS
        if written[kind] and not is_personal(written[kind])
    ]
    return [one for one in dict.fromkeys(found) if one.lower().startswith("https://")]


def to_try(content: Content, project: Project) -> list[str]:
    own = [one for one in links_in(content) if images.allowed(one, project.own_hosts)]
    return own[:MOST]


def untried(content: Content, project: Project) -> int:
    """Addresses that nobody tries: of other hosts, or with values of a person in them."""
    personal = {
        written[kind]
        for tag in ("", *languages_of(content))
        for written in [in_language(content, tag)]
        for kind in KINDS
        if is_personal(written[kind])
    }
    return len(personal) + len(links_in(content)) - len(to_try(content, project))


def tried(url: str) -> dict[str, Any]:
    """What came of one, as it is kept."""
    answer = https_post.look(url.partition("#")[0])
    return {"url": url, "status": answer.status, "error": answer.error}


def is_dead(one: dict[str, Any]) -> bool:
    return one["status"] in GONE


def is_in_trouble(one: dict[str, Any]) -> bool:
    """It could not be opened, which may pass. Who must log in first finds a page that lives."""
    return bool(one["error"]) or (one["status"] or 0) >= 500
