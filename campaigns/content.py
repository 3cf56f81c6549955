"""What a template says, as a run freezes it: texts, data and options, and the other languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXTS = ("title", "body", "image", "link")
Content = Mapping[str, Any]


def in_language(content: Content, locale: str) -> dict[str, Any]:
    """The texts for pt-BR: those of pt-BR, else of pt, else the template's own; field by field."""
    locales = content["locales"]
    language = locale.replace("_", "-")
    best = locales.get(language) or locales.get(language.partition("-")[0]) or {}
    texts = {name: best.get(name) or content[name] for name in TEXTS}
    return {**texts, "data": {**content["data"], **best.get("data", {})}}


def on_platform(content: Content, locale: str, platform: str) -> dict[str, Any]:
    """All that is written for one language and one platform, before a person's values are in."""
    # A run launched before there were options has none.
    options = content.get("options", {}).get(platform, {})
    return {**in_language(content, locale), "options": options}


def is_personal(value: Any) -> bool:
    """Whether it holds a text that may read differently for two people."""
    if isinstance(value, str):
        return "{" in value
    if isinstance(value, dict):
        return any(is_personal(inner) for inner in value.values())
    return isinstance(value, list) and any(is_personal(inner) for inner in value)
