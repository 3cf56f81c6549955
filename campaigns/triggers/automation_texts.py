"""Automation texts: an automation as a sentence, in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from campaigns.audiences.behavior.event import with_conditions
from campaigns.triggers.automation import Automation
from notifications.values.moments import in_words


def sentence(automation: Automation) -> str:
    values = {
        "event": event_in_words(automation.event_name, automation.where),
        "template": automation.template,
        "when": when(automation),
        "often": often(automation),
    }
    if not automation.unless_name:
        return _("After {event}, the person is sent “{template}” {when}, {often}.").format(**values)
    unless = event_in_words(automation.unless_name, automation.unless_where)
    pattern = _(
        "After {event}, the person is sent “{template}” {when}, {often}, unless {unless} came "
        "meanwhile."
    )
    return pattern.format(**values, unless=unless)


def event_in_words(name: str, where: list[dict[str, Any]]) -> str:
    return with_conditions(_("“{event}”").format(event=name), where)


def when(automation: Automation) -> str:
    if not automation.delay_seconds:
        return _("at once")
    return _("{span} later").format(span=in_words(automation.delay))


def often(automation: Automation) -> str:
    if not automation.once_in_seconds:
        return _("every time")
    return _("at most once in {span}").format(span=in_words(automation.window))
