"""Composing: turns a call into a webhook, a Slack message or an e-mail.

Webhooks follow Standard Webhooks (standardwebhooks.com), and its own library signs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import translation
from django.utils.translation import gettext as _
from standardwebhooks import Webhook

from notifications.gateway import WrongKey
from notifications.values.moments import in_zone
from notifications.webhooks import event_types
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.transports import https_post, mailing
from notifications.webhooks.transports.https_post import Answer

Send = Callable[[], Answer]
LINES = "application/x-ndjson"


@dataclass
class EventText:
    """An event in words: a headline, facts beneath it, and where to read more."""

    headline: str
    text: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    link: str = ""  # a URL, if PUBLIC_URL is set
    label: str = ""  # the text of the link


# Makes the words of each event type, in the active language: see `campaigns/registrations.py`.
TEXT_BUILDERS: dict[str, Callable[[dict[str, Any]], EventText]] = {}


def prepare_send(call: Call, *, now: datetime) -> Send:
    """Prepare a call with all that needs the database. The returned function runs in a thread."""
    try:
        return _ready(call, now)
    except WrongKey as error:
        answer = Answer(error=Call.Error.NO_KEY, text=str(error))
        return lambda: answer


def _ready(call: Call, now: datetime) -> Send:
    endpoint = call.endpoint
    if endpoint.via == Endpoint.Via.WEBHOOK:
        body, headers = webhook(call, now=now)
        return lambda: https_post.post(endpoint.target, body, headers)
    with translation.override(endpoint.language):
        texts = [_in_words(event, endpoint) for event in call.events]
        if endpoint.via == Endpoint.Via.SLACK:
            url, text = endpoint.open(), slack(texts)
            return lambda: https_post.post(url, text, {"Content-Type": "application/json"})
        message = email(texts, endpoint)
        message.extra_headers["Message-ID"] = f"<{call.name}@carillon>"  # at each try
        return lambda: mailing.send(message)


# --- Webhooks -------------------------------------------------------------------------------------


def webhook(call: Call, *, now: datetime) -> tuple[bytes, dict[str, str]]:
    """The body and headers of a webhook. Signed at each try: receivers refuse old signatures."""
    kind, body = "application/json", orjson.dumps(call.events[0])
    if call.endpoint.batched:
        kind, body = LINES, b"".join(orjson.dumps(each) + b"\n" for each in call.events)
    signs = [
        Webhook(secret).sign(call.name, now, body.decode())
        for secret in call.endpoint.secrets(now=now)
    ]
    return body, {
        "Content-Type": kind,
        "webhook-id": call.name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signs),
    }


# --- For people -----------------------------------------------------------------------------------


def _in_words(event: dict[str, Any], endpoint: Endpoint) -> EventText:
    builder = TEXT_BUILDERS.get(event["type"])
    text = builder(event["data"]) if builder else EventText(event_types.in_words(event["type"]))
    at = in_zone(datetime.fromisoformat(event["timestamp"]), endpoint.project.timezone)
    text.facts = [*text.facts, (_("Project"), str(endpoint.project)), (_("When"), at)]
    return text


def test_words(data: dict[str, Any]) -> EventText:
    return EventText(_("Test from Carillon"), _("It arrives: reports will be sent here."))


def disabled_words(data: dict[str, Any]) -> EventText:
    why = data["why"]
    text = str(Endpoint.Why(why).label) if why in Endpoint.Why.values else why
    return EventText(
        _("Reports to “%(name)s” were stopped") % {"name": data["name"]},
        text,
        link=address(f"/admin/notifications/endpoint/{data['endpoint']}/change/"),
        label=_("Open the endpoint"),
    )


TEXT_BUILDERS |= {event_types.TEST: test_words, event_types.DISABLED: disabled_words}


def address(path: str) -> str:
    """The public URL of one of our pages; empty if PUBLIC_URL is not set."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else ""


def slack(said: list[EventText]) -> bytes:
    """A Slack message: blocks, and the text that a notification of it shows."""
    blocks = [block for one in said for block in _blocks(one)]
    return json.dumps({"text": _safe(said[0].headline), "blocks": blocks}).encode()


def _blocks(event_text: EventText) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": event_text.headline[:150]}}
    ]
    if event_text.text:
        blocks.append({"type": "section", "text": _markdown(_safe(event_text.text)[:3_000])})
    facts = [
        _markdown(f"*{_safe(name)}*\n{_safe(value)}"[:2_000]) for name, value in event_text.facts
    ]
    for at in range(0, len(facts), 10):  # Slack accepts ten in one section
        blocks.append({"type": "section", "fields": facts[at : at + 10]})
    if event_text.link:
        text = {"type": "plain_text", "text": event_text.label[:75]}
        button = {"type": "button", "text": text, "url": event_text.link}
        blocks.append({"type": "actions", "elements": [button]})
    return blocks


def _markdown(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}


def _safe(text: str) -> str:
    """Escape a text for Slack: a name must not become a mention of everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def email(said: list[EventText], endpoint: Endpoint) -> EmailMessage:
    parts = []
    for text in said:
        facts = "\n".join(f"{name}: {value}" for name, value in text.facts)
        link = f"{text.label}: {text.link}" if text.link else ""
        parts.append("\n\n".join(part for part in (text.headline, text.text, facts, link) if part))
    subject = " ".join(f"{said[0].headline} · {endpoint.project}".split())  # one line only
    return EmailMessage(subject[:200], "\n\n\n".join(parts) + "\n", to=endpoint.target.split(", "))
