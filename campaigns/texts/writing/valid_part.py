"""The part of a template that can be previewed while some of it is wrong.

One bad field hides no other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.core.exceptions import ValidationError

from campaigns.texts import buttons, caps, fcm_check, options
from campaigns.texts.snippets import usage
from campaigns.texts.snippets.mentions import HOLDERS
from campaigns.texts.template import Template, data_problems, text_problems
from notifications.values.languages import validate_locale

LETTERS_SHOWN = 500  # of a text that cannot be parsed
BRACES_SHOWN = 40  # each becomes a tag; there may be a hundred


def readable(template: Template) -> Template | None:
    """The template without its errors; None if it is too large to check.

    A title or a body with an error is shown as it was typed; other parts with an error are left
    out.
    """
    content = template.written()
    if caps.problems({**content, "template": ""}):
        return None
    known = usage.names(template.project_id) if usage.mentioned(content) else ()
    draft = Template(
        project=template.project,
        pk=template.pk,
        **_texts(content, known),
        buttons=[] if buttons.problems(template.buttons) else template.buttons,
        data=_data(content["data"], known),
        options=_options(content["options"]),
        locales=_locales(content["locales"], known, buttons.ids_of(template.buttons)),
    )
    for name in fcm_check.problems_of(draft.frozen()):
        if name != "body":  # a body is too long then, and can be read all the same
            setattr(draft, name, type(getattr(draft, name))())
    return draft


def _texts(texts: Mapping[str, Any], known: Collection[str]) -> dict[str, str]:
    return {
        name: _text(name, source, known)
        for name, source in texts.items()
        if name in ("title", "body", "image", "link")
    }


def _text(name: str, source: Any, known: Collection[str]) -> str:
    if not text_problems(name, source, known):
        return str(source)
    return _as_literal(str(source)) if name in HOLDERS else ""


def _as_literal(source: str) -> str:
    """A Liquid text that renders exactly this source."""
    letters = source[:LETTERS_SHOWN]
    return letters.replace("{", "{{ '{' }}") if letters.count("{") <= BRACES_SHOWN else ""


def _data(data: Any, known: Collection[str]) -> dict[str, str]:
    items = data.items() if isinstance(data, dict) else ()
    return {key: text for key, text in items if not data_problems({key: text}, known)}


def _options(options_given: Any) -> dict[str, Any]:
    platforms = options_given.items() if isinstance(options_given, dict) else ()
    valid = {
        platform: {
            name: value
            for name, value in settings.items()
            if not options.problems({platform: {name: value}})
        }
        for platform, settings in platforms
        if isinstance(settings, dict)
    }
    return {platform: settings for platform, settings in valid.items() if settings}


def _locales(locales: Any, known: Collection[str], ids: Collection[str]) -> dict[str, Any]:
    tags = locales.items() if isinstance(locales, dict) else ()
    return {
        tag: {
            **_texts(texts, known),
            "data": _data(texts.get("data"), known),
            "buttons": _titles(texts.get("buttons", {}), ids),
        }
        for tag, texts in tags
        if isinstance(texts, dict) and _is_language(tag)
    }


def _titles(titles: Any, ids: Collection[str]) -> dict[str, str]:
    return {} if buttons.problems_of_titles(titles, ids) else titles


def _is_language(tag: str) -> bool:
    try:
        validate_locale(tag)
    except ValidationError:
        return False
    return True
