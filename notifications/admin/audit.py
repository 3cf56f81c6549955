"""The audit trail, newest first. Nobody edits it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet, Value
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications.admin.furniture.chosen import chosen
from notifications.admin.furniture.page import ReadOnlyPage
from notifications.admin.furniture.unfolded import display
from notifications.staff.audit import AuditEntry
from notifications.staff.audit_words import called, changes_in_words, detail_in_words, in_words
from notifications.values.moments import in_zone

IN_THE_LIST = 120  # characters in the list; the entry's own page has all of it


@admin.register(AuditEntry)
class AuditPage(ReadOnlyPage):
    list_display = ["when", "actor", "place", "did", "subject", "more"]
    fields = ["when", "actor", "place", "did", "subject", "before_and_after", "about", "asked_in"]
    search_fields = ["^actor", "^subject", "^action"]
    search_help_text = gettext_lazy("Begins with: user:ada, launched, run 81")
    endless = True
    sortable_by = ()
    list_select_related = ["project"]
    empty_text = gettext_lazy("Every log-in, launch, pause, change and deletion will stand here.")

    def of_project(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Log-ins, the team and the sweep are nobody's alone."""
        project = chosen(request)
        # One clock for the whole list: entries of nobody in UTC would seem to be hours away.
        zone = Value(project.timezone if project else "UTC")
        shown: QuerySet[Any] = rows.annotate(zone=zone)
        return shown.filter(Q(project=project) | Q(project=None))

    class Media:
        css = {"all": ["security.css"]}

    @display(description=gettext_lazy("when"))
    def when(self, obj: Any) -> str:
        return in_zone(obj.at, obj.zone, seconds=True)

    @display(description=gettext_lazy("from"))
    def place(self, obj: AuditEntry) -> str:
        return obj.address or _("the server")

    @display(description=gettext_lazy("action"))
    def did(self, obj: AuditEntry) -> str:
        return _(obj.action)

    @display(description=gettext_lazy("what changed"))
    def more(self, obj: AuditEntry) -> str:
        text = changes_in_words(obj.changes) or detail_in_words(obj.detail) or "–"
        return text if len(text) <= IN_THE_LIST else f"{text[: IN_THE_LIST - 1]}…"

    @display(description=gettext_lazy("before → after"))
    def before_and_after(self, obj: AuditEntry) -> SafeString:
        if not obj.changes:
            return SafeString("–")
        rows = ((called(name), in_words(a), in_words(b)) for name, (a, b) in obj.changes.items())
        head = format_html(
            "<tr><th>{}</th><th>{}</th><th>{}</th></tr>", _("Field"), _("Before"), _("After")
        )
        body = format_html_join("", "<tr><th scope='row'>{}</th><td>{}</td><td>{}</td></tr>", rows)
        return format_html("<table class='c-changes'>{}{}</table>", head, body)

    @display(description=gettext_lazy("detail"))
    def about(self, obj: AuditEntry) -> str:
        return detail_in_words(obj.detail) or "–"

    @display(description=gettext_lazy("request ID"))
    def asked_in(self, obj: AuditEntry) -> SafeString:
        if not obj.request_id:
            return SafeString("–")
        return format_html('<span class="c-code c-anywhere">{}</span>', obj.request_id)
