"""Validation of a template's options, per platform. Their texts may contain variables."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from campaigns.texts import liquid
from campaigns.texts.content import is_personal
from campaigns.texts.snippets import validation
from notifications.fcm.options import PLATFORMS, Unreadable, parse

EXAMPLE = '{"android": {"channel_id": "offers"}, "ios": {"badge": 1}}'


def problems(given: Any) -> list[str]:
    """The problems of a template's options, each with its option and what to write instead."""
    if not isinstance(given, dict):
        return [gettext("must be an object, e.g. %(example)s.") % {"example": EXAMPLE}]
    messages = []
    for platform, settings in given.items():
        if platform not in PLATFORMS:
            text = gettext("no such platform; use %(known)s.") % {"known": ", ".join(PLATFORMS)}
            messages.append(f"{platform}: {text}")
        elif not isinstance(settings, dict):
            text = gettext("must be an object, e.g. %(example)s.") % {"example": EXAMPLE}
            messages.append(f"{platform}: {text}")
        else:
            for name, value in settings.items():
                messages += _problems(platform, name, value)
    return messages


def _problems(platform: str, name: str, value: Any) -> list[str]:
    option = PLATFORMS[platform].get(name)
    if option is None:
        text = gettext("no such option; use %(known)s.") % {"known": ", ".join(PLATFORMS[platform])}
        return [f"{platform}.{name}: {text}"]
    if broken := _liquid_problems(value, f"{platform}.{name}"):
        return broken
    if isinstance(value, str) and is_personal(value) and option.kind.personal:
        return []  # the whole text may differ for each person
    try:
        parse(platform, {name: without_variables(value)})
    except Unreadable as error:
        return [f"{platform}.{error.inner}: {error.words}"]
    return []


def without_variables(value: Any) -> Any:
    """The value, with each text that contains variables replaced by an empty one."""
    if isinstance(value, dict):
        return {key: without_variables(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_variables(inner) for inner in value]
    return "" if is_personal(value) else value


def _liquid_problems(value: Any, place: str) -> list[str]:
    """The problems of every text inside a value, each with its place."""
    if isinstance(value, str):
        messages = liquid.problems(value) or validation.out_of_place(value)
        return [f"{place}: {words}" for words in messages]
    if isinstance(value, dict):
        return [
            w for key, inner in value.items() for w in _liquid_problems(inner, f"{place}.{key}")
        ]
    if isinstance(value, list):
        numbered = enumerate(value)
        return [w for n, inner in numbered for w in _liquid_problems(inner, f"{place}[{n}]")]
    return []
