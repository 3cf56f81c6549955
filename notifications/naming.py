"""What fields and kinds of rows are called on the pages, in the reader's language.

A field's name in the code is its English name. Set here and not in the models, the words stay out
of the migrations: a better word is no change of the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.apps import AppConfig
from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

FIELDS = {
    "Firebase project ID": pgettext_lazy("field", "Firebase project ID"),
    "action": pgettext_lazy("field", "action"),
    "actor": pgettext_lazy("field", "actor"),
    "address": pgettext_lazy("field", "address"),
    "app version": pgettext_lazy("field", "app version"),
    "at": pgettext_lazy("field", "at"),
    "attributes": pgettext_lazy("field", "attributes"),
    "changes": pgettext_lazy("field", "changes"),
    "contact": _("person"),
    "created at": pgettext_lazy("field", "created at"),
    "detail": pgettext_lazy("field", "detail"),
    "digest": pgettext_lazy("field", "digest"),
    "expires at": pgettext_lazy("field", "expires at"),
    "external id": pgettext_lazy("field", "external id"),
    "from": pgettext_lazy("field", "from"),
    "image hosts": pgettext_lazy("field", "image hosts"),
    "kind": pgettext_lazy("field", "kind"),
    "last seen at": pgettext_lazy("field", "last seen at"),
    "last used at": pgettext_lazy("field", "last used at"),
    "locale": pgettext_lazy("field", "locale"),
    "name": pgettext_lazy("field", "name"),
    "person": _("person"),
    "platform": pgettext_lazy("field", "platform"),
    "prefix": pgettext_lazy("field", "prefix"),
    "project": _("project"),
    "quota per minute": pgettext_lazy("field", "quota per minute"),
    "request ID": pgettext_lazy("field", "request ID"),
    "registered at": pgettext_lazy("field", "registered at"),
    "retired at": pgettext_lazy("field", "retired at"),
    "retired by": pgettext_lazy("field", "retired by"),
    "retired reason": pgettext_lazy("field", "retired reason"),
    "revoked at": pgettext_lazy("field", "revoked at"),
    "scopes": pgettext_lazy("field", "scopes"),
    "seconds to full speed": pgettext_lazy("field", "seconds to full speed"),
    "slug": pgettext_lazy("field", "slug"),
    "subject": pgettext_lazy("field", "subject"),
    "subject id": pgettext_lazy("field", "subject id"),
    "subject kind": pgettext_lazy("field", "subject kind"),
    "subject name": pgettext_lazy("field", "subject name"),
    "time zone": pgettext_lazy("field", "time zone"),
    "updated at": pgettext_lazy("field", "updated at"),
    "uses default credentials": pgettext_lazy("field", "uses default credentials"),
    "uses emulator": pgettext_lazy("field", "uses emulator"),
}
ROWS = {
    "project": (_("project"), _("projects")),
    "serviceaccount": (_("service account"), _("service accounts")),
    "apikey": (_("API key"), _("API keys")),
    "auditentry": (_("audit entry"), _("audit entries")),
    "contact": (_("person"), _("people")),
    "device": (_("device"), _("devices")),
}


def name_rows(
    app: AppConfig,
    fields: Mapping[str, str | Promise],
    rows: Mapping[str, tuple[str | Promise, str | Promise]],
) -> None:
    for model in app.get_models():
        meta = model._meta
        if words := rows.get(meta.model_name or ""):
            meta.verbose_name, meta.verbose_name_plural = words  # type: ignore[assignment]
        for field in meta.get_fields():
            if (word := fields.get(str(getattr(field, "verbose_name", "")))) is not None:
                field.verbose_name = word  # type: ignore[union-attr]


# What the trail calls a column that a room of its own names; others by their own name, as words.
CALLED: dict[str, Any] = {}


def name_columns(words: Mapping[str, Any], models: Iterable[type[Model]]) -> None:
    """One name for a column, whichever of these models has it, on pages and in the trail."""
    CALLED.update(words)
    for model in models:
        for field in model._meta.concrete_fields:
            field.verbose_name = words.get(field.name, field.verbose_name)
