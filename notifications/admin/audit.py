"""Audit trail: a read-only list of entries, newest first."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet, Value
from django.http import HttpRequest
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from notifications.admin.ui.current_project import current_project
from notifications.admin.ui.keyset import KeysetChangeList
from notifications.admin.ui.page import LONGEST_SEARCH, ReadOnlyPage, page_url
from notifications.admin.ui.unfolded import ChangeList, display
from notifications.staff import subjects
from notifications.staff.actors import key_names, named, who
from notifications.staff.audit import AuditEntry
from notifications.staff.audit_words import (
    action_in_words,
    before_and_after,
    changes_in_words,
    detail_in_words,
)
from notifications.values.moments import in_zone

IN_THE_LIST = 120  # characters in the list; the entry's own page has all of it


class Trail(KeysetChangeList):
    model_admin: AuditPage

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.model_admin.look_up(request, self.result_list)


@admin.register(AuditEntry)
class AuditPage(ReadOnlyPage):
    list_display = ["when", "by", "place", "did", "what", "more"]
    fields = ["when", "by", "place", "did", "what", "before_and_after", "about", "asked_in"]
    search_fields = ["^actor", "^subject", "^subject_name", "^action"]
    search_help_text = gettext_lazy("Begins with: user:ada, launched, run 81")
    endless = True
    sortable_by = ()
    list_select_related = ["project"]
    empty_text = gettext_lazy("Every log-in, launch, pause, change and deletion will appear here.")

    def of_project(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Also show entries without a project: log-ins, the team and the sweep."""
        project = current_project(request)
        # One time zone for the whole list: entries without a project would seem hours off in UTC.
        zone = Value(project.timezone if project else "UTC")
        entries: QuerySet[Any] = rows.annotate(zone=zone)
        return entries.filter(Q(project=project) | Q(project=None))

    class Media:
        css = {"all": ["security.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return Trail

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by prefix, including spaces: “run 81” is one term."""
        typed = search_term.strip()
        term = typed[:LONGEST_SEARCH].replace("\x00", "")
        if len(typed) > LONGEST_SEARCH:
            text = _("Only the first %(letters)s letters are searched for.")
            messages.warning(request, text % {"letters": LONGEST_SEARCH})
        begins = [Q(**{f"{name[1:]}__istartswith": term}) for name in self.search_fields]
        return queryset.filter(reduce(or_, begins, named(term))) if term else queryset, False

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        entry = super().get_object(request, *args, **kwargs)
        if entry is not None:
            self.look_up(request, [entry])
        return entry

    def look_up(self, request: HttpRequest, entries: list[AuditEntry]) -> None:
        """Set `who` and `said` (current names), and `url` (only if the user may open it)."""
        rows, keys = subjects.load_subjects(entries), key_names(entry.actor for entry in entries)
        for entry in entries:
            row = rows.get((entry.subject_kind, entry.subject_id or 0))
            entry.who = who(entry.actor, keys)  # type: ignore[attr-defined]  # of this page
            entry.said = str(subjects.of_today(row)) if row else entry.about  # type: ignore[attr-defined]
            entry.url = self._url(request, row) if row else ""  # type: ignore[attr-defined]

    def _url(self, request: HttpRequest, row: Model) -> str:
        page = self.admin_site._registry.get(type(row))
        return page_url(row) if page and page.has_view_permission(request, row) else ""

    @display(description=pgettext_lazy("field", "actor"))
    def by(self, obj: Any) -> str:
        name: str = obj.who
        return name

    @display(description=pgettext_lazy("field", "subject"))
    def what(self, obj: Any) -> SafeString:
        if not obj.url:
            return conditional_escape(obj.said)
        return format_html('<a class="c-link" href="{}">{}</a>', obj.url, obj.said)

    @display(description=gettext_lazy("when"))
    def when(self, obj: Any) -> str:
        return in_zone(obj.at, obj.zone, seconds=True)

    @display(description=gettext_lazy("from"))
    def place(self, obj: AuditEntry) -> str:
        return obj.address or _("the server")

    @display(description=gettext_lazy("action"))
    def did(self, obj: AuditEntry) -> str:
        return action_in_words(obj.did, obj.detail)

    @display(description=gettext_lazy("what changed"))
    def more(self, obj: Any) -> str:
        changed = changes_in_words(obj.changes, obj.subject_kind, obj.zone)
        text = changed or detail_in_words(obj.detail) or "–"
        return text if len(text) <= IN_THE_LIST else f"{text[: IN_THE_LIST - 1]}…"

    @display(description=gettext_lazy("before → after"))
    def before_and_after(self, obj: Any) -> SafeString:
        rows = before_and_after(obj.changes, obj.subject_kind, obj.zone)
        if not rows:
            return SafeString("–")
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
