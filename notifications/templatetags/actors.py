"""`{{ entry.actor|who }}` in templates."""

from __future__ import annotations

from django import template

from notifications import actors

register = template.Library()
register.filter("who", actors.who)
