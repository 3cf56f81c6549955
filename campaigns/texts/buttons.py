"""Buttons of a message: [{"id": "open", "title": "Open", "link": "https://…"}], at most three.

A browser draws them itself. On Android, the app draws them from the data. On iOS, the app has
registered its own, and `options.ios.category` names them: no button of ours goes there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from campaigns.texts import liquid
from campaigns.texts.snippets import validation
from notifications.fcm import rules

MOST = 3  # phones show three, browsers two or three
LONGEST_TITLE = 100  # with its variables; phones show less of it
LONGEST_LINK = 2_000
ID = re.compile(r"[a-z0-9_-]{1,32}")
NAMES = ("id", "title", "link")
ON = ("android", "web")
EXAMPLE = '[{"id": "open", "title": "Open", "link": "https://example.com/"}]'

Button = Mapping[str, str]


def problems(buttons: Any) -> list[str]:
    """The problems of a template's buttons, each with its place and what to write instead."""
    if not isinstance(buttons, list) or not all(isinstance(button, dict) for button in buttons):
        return [gettext("must be a list, e.g. %(example)s.") % {"example": EXAMPLE}]
    if len(buttons) > MOST:
        text = gettext("At most %(most)s buttons; there are %(count)s. Remove some.")
        return [text % {"most": MOST, "count": f"{len(buttons):,}"}]
    messages = [
        f"{at}: {words}" for at, button in enumerate(buttons, 1) for words in _problems(button)
    ]
    ids = [button.get("id") for button in buttons]
    if not messages and len(set(ids)) < len(ids):
        messages.append(gettext("Two buttons have the same id; give each its own."))
    return messages


def _problems(button: dict[str, Any]) -> list[str]:
    if extra := sorted(set(button) - set(NAMES)):
        message = gettext("%(name)s: a button has id, title, link.")
        return [message % {"name": extra[0]}]
    id, title, link = (button.get(name, "") for name in NAMES)
    if not all(isinstance(text, str) for text in (id, title, link)):
        return [gettext("must be a text.")]
    if not ID.fullmatch(id):
        return [gettext("id: 1 to 32 of a–z, 0–9, - and _; the app knows the button by it.")]
    messages = [f"title: {words}" for words in _title_problems(title, needed=True)]
    return [*messages, *(f"link: {words}" for words in _link_problems(link))]


def _title_problems(title: Any, *, needed: bool = False) -> list[str]:
    if not isinstance(title, str):
        return [gettext("must be a text.")]
    if needed and not title.strip():
        return [gettext("write what stands on the button.")]
    if len(title) > LONGEST_TITLE:
        text = gettext("longer than %(most)s characters.")
        return [text % {"most": LONGEST_TITLE}]
    return [str(problem) for problem in liquid.problems(title) or validation.out_of_place(title)]


def _link_problems(link: str) -> list[str]:
    if not link:
        return []
    if len(link) > LONGEST_LINK:
        return [gettext("longer than %(most)s characters.") % {"most": f"{LONGEST_LINK:,}"}]
    if link.lstrip().startswith("{"):
        return [gettext("begin with https://… or your app's scheme; a value may follow.")]
    if faults := liquid.problems(link) or validation.out_of_place(link):
        return [str(problem) for problem in faults]
    return [words for words in (rules.link(link), rules.no_user(link)) if words]


# --- In another language --------------------------------------------------------------------------


def problems_of_titles(said: Any, ids: Collection[str]) -> list[str]:
    """The problems of the titles in another language: {"open": "열기"}."""
    if not isinstance(said, dict):
        return [
            gettext("must be an object of texts, e.g. %(example)s.")
            % {"example": '{"open": "열기"}'}
        ]
    messages = []
    for id, title in said.items():
        if id not in ids:
            messages.append(gettext("%(id)s: there is no such button.") % {"id": str(id)[:40]})
        messages += [f"{id}: {words}" for words in _title_problems(title)]
    return messages


def ids_of(buttons: Any) -> list[str]:
    """The ids of the buttons; works for invalid buttons, too."""
    rows = buttons if isinstance(buttons, list) else []
    return [
        button["id"]
        for button in rows
        if isinstance(button, dict) and isinstance(button.get("id"), str)
    ]


def spoken(buttons: Sequence[Button], titles: Mapping[str, str]) -> list[dict[str, str]]:
    """The buttons with the titles of a language; missing titles come from the main text."""
    return [
        {
            name: text
            for name, text in {**row, "title": titles.get(row["id"]) or row["title"]}.items()
            if text
        }
        for row in buttons
    ]
