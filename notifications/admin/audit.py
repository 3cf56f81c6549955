"""The audit trail, newest first. Nobody edits it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from notifications.admin.page import ReadOnlyPage
from notifications.admin.unfolded import display
from notifications.audit import AuditEntry
from notifications.moments import in_zone


@admin.register(AuditEntry)
class AuditPage(ReadOnlyPage):
    list_display = ["when", "actor", "action", "subject", "more"]
    fields = ["when", "actor", "action", "subject", "detail"]
    search_fields = ["^actor", "^subject"]
    search_help_text = "Start of who or what: user:ada, run 81"
    endless = True
    sortable_by = ()
    list_select_related = ["project"]
    empty_text = "Every launch, pause, change and deletion will stand here."

    @display(description="when")
    def when(self, obj: AuditEntry) -> str:
        zone = obj.project.timezone if obj.project else "UTC"
        return in_zone(obj.at, zone, seconds=True)

    @display(description="detail")
    def more(self, obj: AuditEntry) -> str:
        return detail_in_words(obj.detail)


def detail_in_words(detail: dict[str, Any]) -> str:
    parts = (
        f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in detail.items()
        if value not in (None, "", [])
    )
    text = "; ".join(parts)
    return text if len(text) <= 120 else f"{text[:119]}…"
