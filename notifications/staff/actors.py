"""Actors: names of people, API keys and runs in audit entries. Rows store them as “user:ada”."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db.models import Q, Value
from django.db.models.functions import Concat
from django.utils.translation import gettext as _

from notifications.staff.api_key import ApiKey

KEYS_LOOKED_FOR = 100


def who(actor: str, keys: Mapping[str, str] | None = None) -> str:
    """Format an actor for people: “ada”, “the API key car_1234…”; with the keys' names “the API key
    shop (car_1234…)”."""
    kind, _colon, name = actor.partition(":")
    if kind == "user":
        return name
    if kind == "key" and keys and name in keys:
        text = _("the API key %(name)s (%(prefix)s…)")
        return text % {"name": keys[name], "prefix": name}
    if kind == "key":
        return _("the API key %(prefix)s…") % {"prefix": name}
    if actor == "app":  # the app of the person that the entry is about
        return _("their own app")
    if kind == "run":
        return _("run %(number)s") % {"number": name}
    if kind == "rehearsal":
        return _("rehearsal %(number)s") % {"number": name}
    return actor


def named(term: str) -> Q:
    """Return a filter for entries whose actor's shown name begins with the term. Keys are looked up
    first, since there are few."""
    label = Concat("name", Value(" ("), "prefix", Value("…)"))
    begins = Q(shown__istartswith=term)
    if prefix := term.rstrip("…"):
        begins |= Q(prefix__startswith=prefix)
    keys = ApiKey.objects.annotate(shown=label).filter(begins).values_list("prefix", flat=True)
    by_keys = [f"key:{prefix}" for prefix in keys[:KEYS_LOOKED_FOR]]
    return Q(actor__in=by_keys) | Q(actor__istartswith=f"user:{term}")


def key_names(actors: Iterable[str]) -> dict[str, str]:
    """Return the names of the API keys among the actors, by prefix."""
    prefixes = {actor.partition(":")[2] for actor in actors if actor.startswith("key:")}
    keys = ApiKey.objects.filter(prefix__in=prefixes) if prefixes else ApiKey.objects.none()
    return dict(keys.values_list("prefix", "name"))
