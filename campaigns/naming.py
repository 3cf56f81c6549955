"""What a campaign's fields and rows are called on the pages, in the reader's language."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from notifications import naming

FIELDS = {
    **naming.FIELDS,
    "accepted": pgettext_lazy("field", "accepted"),
    "archived at": pgettext_lazy("field", "archived at"),
    "audience": _("audience"),
    "body": pgettext_lazy("field", "body"),
    "campaign": _("campaign"),
    "cause": pgettext_lazy("field", "cause"),
    "cause detail": pgettext_lazy("field", "cause detail"),
    "detail args": pgettext_lazy("field", "detail args"),
    "detail code": pgettext_lazy("field", "detail code"),
    "content": pgettext_lazy("field", "content"),
    "data": pgettext_lazy("field", "data"),
    "epoch": pgettext_lazy("field", "epoch"),
    "evaluated at": pgettext_lazy("field", "evaluated at"),
    "filling": pgettext_lazy("field", "filling"),
    "finished at": pgettext_lazy("field", "finished at"),
    "forgotten at": pgettext_lazy("field", "forgotten at"),
    "frozen through": pgettext_lazy("field", "frozen through"),
    "held platforms": pgettext_lazy("field", "held platforms"),
    "image": pgettext_lazy("field", "image"),
    "launched at": pgettext_lazy("field", "launched at"),
    "launched by": pgettext_lazy("field", "launched by"),
    "link": pgettext_lazy("field", "link"),
    "locales": pgettext_lazy("field", "locales"),
    "occurrence": pgettext_lazy("field", "occurrence"),
    "options": pgettext_lazy("field", "options"),
    "overruled": pgettext_lazy("field", "overruled"),
    "people": _("people"),
    "planned": pgettext_lazy("field", "planned"),
    "recipients hash": pgettext_lazy("field", "recipients hash"),
    "rejected": pgettext_lazy("field", "rejected"),
    "reopened at": pgettext_lazy("field", "reopened at"),
    "resumed at": pgettext_lazy("field", "resumed at"),
    "rules": pgettext_lazy("field", "rules"),
    "rules before": pgettext_lazy("field", "rules before"),
    "scheduled at": pgettext_lazy("field", "scheduled at"),
    "seen since": pgettext_lazy("field", "seen since"),
    "series stopped at": pgettext_lazy("field", "series stopped at"),
    "size": pgettext_lazy("field", "size"),
    "skipped": pgettext_lazy("field", "skipped"),
    "started at": pgettext_lazy("field", "started at"),
    "state": pgettext_lazy("field", "state"),
    "tags": pgettext_lazy("field", "tags"),
    "template": _("template"),
    "title": pgettext_lazy("field", "title"),
    "unfrozen": pgettext_lazy("field", "unfrozen"),
    "unknown": pgettext_lazy("field", "unknown"),
}
ROWS = {
    "audience": (_("audience"), _("audiences")),
    "campaign": (_("campaign"), _("campaigns")),
    "run": (_("run"), _("runs")),
    "template": (_("template"), _("templates")),
}
