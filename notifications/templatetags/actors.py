"""Filters for audit entries: `{{ entry.actor|who }}`, `{{ entry.changes|changed:zone }}`."""

from __future__ import annotations

from django import template

from notifications.staff import actors
from notifications.staff.audit_words import only_changed

register = template.Library()
register.filter("who", actors.who)
register.filter("changed", only_changed)
