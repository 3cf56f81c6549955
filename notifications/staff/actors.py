"""Who did it, as a person would say it. The rows keep the kind as well: “user:ada”."""

from __future__ import annotations

from django.utils.translation import gettext as _


def who(actor: str) -> str:
    """“ada”, “the API key car_1234…”."""
    kind, _colon, name = actor.partition(":")
    if kind == "user":
        return name
    if kind == "key":
        return _("the API key %(prefix)s…") % {"prefix": name}
    if kind == "run":
        return _("run %(number)s") % {"number": name}
    return actor
