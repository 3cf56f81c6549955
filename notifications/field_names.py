"""Naming: what pages call fields and models, in the reader's language.

A field's name in the code is its English name. The words are set here and not in the models, so
they stay out of the migrations: a better word does not change the schema.
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
    "Android app ID": pgettext_lazy("field", "Android app ID"),
    "answered at": pgettext_lazy("field", "answered at"),
    "at least, per second": pgettext_lazy("field", "at least, per second"),
    "batched": pgettext_lazy("field", "batched"),
    "before ends at": pgettext_lazy("field", "before ends at"),
    "disabled at": pgettext_lazy("field", "disabled at"),
    "disabled why": pgettext_lazy("field", "disabled why"),
    "failing since": pgettext_lazy("field", "failing since"),
    "failures": pgettext_lazy("field", "failures"),
    "Firebase project ID": pgettext_lazy("field", "Firebase project ID"),
    "action": pgettext_lazy("field", "action"),
    "actor": pgettext_lazy("field", "actor"),
    "address": pgettext_lazy("field", "address"),
    "allowed origins": pgettext_lazy("field", "allowed origins"),
    "app version": pgettext_lazy("field", "app version"),
    "at": pgettext_lazy("field", "at"),
    "ahead": pgettext_lazy("field", "ahead"),
    "attributes": pgettext_lazy("field", "attributes"),
    "by": pgettext_lazy("field", "by"),
    "category": pgettext_lazy("field", "category"),
    "count opened links": pgettext_lazy("field", "count opened links"),
    "category kind": pgettext_lazy("field", "category kind"),
    "changes": pgettext_lazy("field", "changes"),
    "contact": _("person"),
    "counts": pgettext_lazy("field", "counts"),
    "created at": pgettext_lazy("field", "created at"),
    "detail": pgettext_lazy("field", "detail"),
    "digest": pgettext_lazy("field", "digest"),
    "done up to": pgettext_lazy("field", "done up to"),
    "duplicates": pgettext_lazy("field", "duplicates"),
    "expires at": pgettext_lazy("field", "expires at"),
    "external id": pgettext_lazy("field", "external id"),
    "finished at": pgettext_lazy("field", "finished at"),
    "foreseen": pgettext_lazy("field", "foreseen"),
    "from": pgettext_lazy("field", "from"),
    "handled": pgettext_lazy("field", "handled"),
    "health address": _("health address"),
    "height": pgettext_lazy("field", "height"),
    "head digest": pgettext_lazy("field", "column names"),
    "image hosts": pgettext_lazy("field", "image hosts"),
    "kind": pgettext_lazy("field", "kind"),
    "kinds": pgettext_lazy("field", "kinds"),
    "language": pgettext_lazy("field", "language"),
    "last seen at": pgettext_lazy("field", "last seen at"),
    "last used at": pgettext_lazy("field", "last used at"),
    "lease": pgettext_lazy("field", "lease"),
    "leased until": pgettext_lazy("field", "leased until"),
    "at least, minutes between two": _("at least, minutes between two"),
    "at most, a day": _("at most, a day"),
    "at most, in seven days": _("at most, in seven days"),
    "caps": _("what the caps mean to it"),
    "holdout, percent": _("holdout, percent"),
    "leave out devices unseen for days": _("leave out devices unseen for (days)"),
    "locale": pgettext_lazy("field", "locale"),
    "mapping": pgettext_lazy("field", "mapping"),
    "mode": pgettext_lazy("field", "mode"),
    "name": pgettext_lazy("field", "name"),
    "number there": _("number there"),
    "only": pgettext_lazy("field", "only"),
    "own hosts": pgettext_lazy("field", "own hosts"),
    "people": _("people"),
    "person": _("person"),
    "platform": pgettext_lazy("field", "platform"),
    "position": pgettext_lazy("field", "position"),
    "preferences": pgettext_lazy("field", "preferences"),
    "prefix": pgettext_lazy("field", "prefix"),
    "problem": pgettext_lazy("field", "problem"),
    "project": _("project"),
    "quota per minute": pgettext_lazy("field", "quota per minute"),
    "reason": pgettext_lazy("field", "reason"),
    "refused": pgettext_lazy("field", "refused"),
    "registered at": pgettext_lazy("field", "registered at"),
    "registered from": pgettext_lazy("field", "registered by"),
    "request ID": pgettext_lazy("field", "request ID"),
    "rests until": pgettext_lazy("field", "rests until"),
    "resubscribe": pgettext_lazy("field", "resubscribe"),
    "quiet from": _("quiet from"),
    "quiet hours": _("in quiet hours"),
    "quiet until": _("quiet until"),
    "retired at": pgettext_lazy("field", "retired at"),
    "retired by": pgettext_lazy("field", "retired by"),
    "retired reason": pgettext_lazy("field", "retired reason"),
    "revoked at": pgettext_lazy("field", "revoked at"),
    "rows": pgettext_lazy("field", "rows"),
    "scopes": pgettext_lazy("field", "scopes"),
    "sealed": pgettext_lazy("field", "sealed"),
    "sealed before": pgettext_lazy("field", "sealed before"),
    "sealed with": pgettext_lazy("field", "sealed with"),
    "searchable": pgettext_lazy("field", "searchable"),
    "ask for receipts": pgettext_lazy("field", "ask for receipts"),
    "seconds to full speed": pgettext_lazy("field", "seconds to full speed"),
    "size": pgettext_lazy("field", "size"),
    "slug": pgettext_lazy("field", "slug"),
    "sniffed": pgettext_lazy("field", "sniffed"),
    "source": pgettext_lazy("field", "source"),
    "staged at": pgettext_lazy("field", "staged at"),
    "started at": pgettext_lazy("field", "started at"),
    "state": pgettext_lazy("field", "state"),
    "subject": pgettext_lazy("field", "subject"),
    "subject id": pgettext_lazy("field", "subject id"),
    "subject kind": pgettext_lazy("field", "subject kind"),
    "subject name": pgettext_lazy("field", "subject name"),
    "subscribed": pgettext_lazy("field", "subscribed"),
    "subscribed at": pgettext_lazy("field", "subscribed at"),
    "subscribed from": pgettext_lazy("field", "subscribed from"),
    "target": pgettext_lazy("field", "target"),
    "tester": pgettext_lazy("field", "tester"),
    "time zone": pgettext_lazy("field", "time zone"),
    "title": pgettext_lazy("field", "title"),
    "type": pgettext_lazy("field", "type"),
    "updated at": pgettext_lazy("field", "updated at"),
    "uses default credentials": pgettext_lazy("field", "uses default credentials"),
    "uses emulator": pgettext_lazy("field", "uses emulator"),
    "via": pgettext_lazy("field", "via"),
    "width": pgettext_lazy("field", "width"),
    "wanted": pgettext_lazy("field", "wanted"),
    "wanted reports": pgettext_lazy("field", "wanted reports"),
}
ROWS = {
    "project": (_("project"), _("projects")),
    "serviceaccount": (_("service account"), _("service accounts")),
    "apikey": (_("API key"), _("API keys")),
    "auditentry": (_("audit entry"), _("audit entries")),
    "attribute": (_("attribute"), _("attributes")),
    "category": (_("category"), _("categories")),
    "contact": (_("person"), _("people")),
    "suppression": (_("suppression"), _("suppressions")),
    "device": (_("device"), _("devices")),
    "endpoint": (_("endpoint"), _("endpoints")),
    "image": (_("image"), _("images")),
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


# Names that the audit trail shows for columns whose own package names them (`name_columns`).
CALLED: dict[str, Any] = {}


def name_columns(words: Mapping[str, Any], models: Iterable[type[Model]]) -> None:
    """Name columns for pages and for the audit trail: a column has the same name in all models."""
    CALLED.update(words)
    for model in models:
        for field in model._meta.concrete_fields:
            field.verbose_name = words.get(field.name, field.verbose_name)
