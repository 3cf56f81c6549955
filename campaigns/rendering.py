"""From a run's frozen content and a person to the Message, or the reason to skip this person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from liquid.exceptions import UndefinedError

from campaigns import liquid
from campaigns.reasons import Reason
from campaigns.template import TEXTS
from notifications import payload
from notifications.gateway import Message


@dataclass(frozen=True, slots=True)
class Reader:
    """The person and the device a text is rendered for."""

    reference: str
    external_id: str
    attributes: Mapping[str, Any]
    locale: str
    timezone: str
    kind: str
    address: str
    platform: str


class Unrenderable(Exception):
    """This person gets nothing, and this is why. Everybody else is not affected."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def render(
    content: Mapping[str, Any], reader: Reader, *, collapse_id: str, ttl_seconds: int
) -> Message:
    texts = in_language(content, reader.locale)
    values = values_of(reader)
    message = Message(
        reference=reader.reference,
        kind=reader.kind,
        address=reader.address,
        platform=reader.platform,
        **{name: _text(texts[name], values) for name in TEXTS},
        data={key: _text(source, values) for key, source in texts["data"].items()},
        collapse_id=collapse_id,
        ttl_seconds=ttl_seconds,
    )
    if (size := payload.size(message)) > payload.MAX_BYTES:
        raise Unrenderable(Reason.TOO_LONG, f"{size:,} bytes")
    return message


def in_language(content: Mapping[str, Any], locale: str) -> dict[str, Any]:
    """The texts for pt-BR: those of pt-BR, else of pt, else the campaign's own; field by field."""
    locales = content["locales"]
    language = locale.replace("_", "-")
    best = locales.get(language) or locales.get(language.partition("-")[0]) or {}
    texts = {name: best.get(name) or content[name] for name in TEXTS}
    return {**texts, "data": {**content["data"], **best.get("data", {})}}


def values_of(reader: Reader) -> dict[str, Any]:
    """What a text may ask for. An empty value is a missing one: “Hi ,” is worse than no push."""
    own = {"external_id": reader.external_id, "locale": reader.locale, "timezone": reader.timezone}
    everything = {**reader.attributes, **own}
    return {name: value for name, value in everything.items() if value not in (None, "")}


def _text(source: str, values: Mapping[str, Any]) -> str:
    if "{" not in source:
        return source
    try:
        return liquid.parse(source).render(**values)
    except UndefinedError as error:
        raise Unrenderable(Reason.MISSING_VALUE, str(error.args[0])[:200]) from error
    # Liquid lets Python's own errors through (a date of 4,000 digits overflows). They say that
    # this person's values do not fit the text, never that the run is broken.
    except Exception as error:
        raise Unrenderable(
            Reason.TEMPLATE_ERROR, f"{type(error).__name__}: {error}"[:200]
        ) from error
