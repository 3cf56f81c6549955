"""Content: what a template says, as a run freezes it: texts, data, options, other languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from campaigns.texts.buttons import ON, spoken
from campaigns.texts.snippets import mentions
from notifications.values import languages

TEXTS = ("title", "body", "image", "link")
Content = Mapping[str, Any]


def in_language(content: Content, locale: str) -> dict[str, Any]:
    """The texts in one language: for pt-BR, those of pt-BR, else of pt.

    An empty text is taken from the main text. Each snippet in the texts falls back in the same way,
    on its own.
    """
    best = _best(content["locales"], locale)
    texts = {name: best.get(name) or content[name] for name in TEXTS}
    written = {**texts, "data": {**content["data"], **best.get("data", {})}}
    snippets = content.get("snippets")
    return mentions.put_in(written, partial(_snippet, snippets, locale)) if snippets else written


def _snippet(snippets: Mapping[str, Any], locale: str, name: str) -> str | None:
    if name not in snippets:
        return None
    text: str = _best(snippets[name]["locales"], locale).get("text") or snippets[name]["text"]
    return text


def languages_of(content: Content) -> list[str]:
    """Every tag for which the content may differ: its own, and those of the snippets in it."""
    snippets = content.get("snippets", {}).values()
    own = {languages.canonical(tag) for tag in content["locales"]}
    others = {tag for snippet in snippets for tag in snippet["locales"] if tag not in own}
    return [*content["locales"], *sorted(others)]


def _best(locales: Mapping[str, Any], locale: str) -> Mapping[str, Any]:
    # Older contents may have two tags of the same language: the one with the same letters wins.
    if exact := locales.get(locale.replace("_", "-")):
        return dict(exact)
    known = {languages.canonical(tag): texts for tag, texts in locales.items() if texts}
    return next((known[tag] for tag in languages.fallbacks(locale) if tag in known), {})


def on_platform(content: Content, locale: str, platform: str) -> dict[str, Any]:
    """The content for one language and one platform, before a person's values are filled in."""
    # A run launched before there were options has none.
    options = content.get("options", {}).get(platform, {})
    written = {**in_language(content, locale), "options": options}
    if (buttons := content.get("buttons")) and platform in ON:
        written["buttons"] = spoken(buttons, _best(content["locales"], locale).get("buttons", {}))
    return written


# The option by which a phone knows a notification: a newer one with the same value replaces it.
TAGS = {"android": "tag", "ios": "collapse_id", "web": "tag"}


def in_place_of(shown: Content, content: Content) -> dict[str, Any]:
    """The content with the tags of what is already shown, so that it replaces that.

    Tags that were written since are dropped. If what is shown has no tag, the content has none.
    """
    options = dict(content.get("options", {}))
    for platform, name in TAGS.items():
        rest = {key: value for key, value in options.get(platform, {}).items() if key != name}
        shown_tag = {key: value for key, value in _options(shown, platform).items() if key == name}
        options[platform] = {**rest, **shown_tag}
    return {**content, "options": {name: own for name, own in options.items() if own}}


def untagged(content: Content) -> list[str]:
    """The platforms on which nothing can replace the message.

    Its tag was left out on purpose, or the app shows the message itself.
    """
    tagged = [(platform, tag, _options(content, platform)) for platform, tag in TAGS.items()]
    return [
        platform
        for platform, tag, options in tagged
        if options.get(tag) == "" or options.get("data_only")
    ]


def _options(content: Content, platform: str) -> Mapping[str, Any]:
    platform_options: Mapping[str, Any] = content.get("options", {}).get(platform, {})
    return platform_options


def text_for(content: Content, locale: str) -> str:
    """The template's tag whose text a person with this locale gets; empty for the main text."""
    best = _best(content["locales"], locale)
    return next((tag for tag, texts in content["locales"].items() if best and texts == best), "")


def sources(content: Content) -> Iterator[str]:
    """Every text of the content, in every language, with its snippets filled in."""
    whole: list[Mapping[str, Any]] = [content, *content["locales"].values()]
    if "snippets" in content:
        whole = [in_language(content, tag) for tag in ("", *languages_of(content))]
    for texts in whole:
        yield from (texts[name] for name in TEXTS if texts.get(name))
        yield from texts.get("data", {}).values()
    for button in content.get("buttons", ()):
        yield from (button.get("title", ""), button.get("link", ""))
    for texts in content["locales"].values():
        yield from texts.get("buttons", {}).values()


def is_personal(value: Any) -> bool:
    """Whether a value holds a text that may read differently for two people."""
    if isinstance(value, str):
        return "{" in value
    if isinstance(value, dict):
        return any(is_personal(inner) for inner in value.values())
    return isinstance(value, list) and any(is_personal(inner) for inner in value)
