"""Revision pages of a template or a snippet: what each revision changed, and how to restore it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from campaigns.texts import revision
from campaigns.texts.comparison import Change, changes
from campaigns.texts.pages.concurrent_edit import who
from campaigns.texts.revision import Revision
from campaigns.texts.writing.field_labels import describe_changes, place
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page, actor, page_url

BESIDE_THE_FORM, LISTED = 5, 200


def history(row: Any, listed: int = BESIDE_THE_FORM) -> dict[str, Any]:
    """The newest revisions, and whether there are older ones."""
    revisions = list(row.revisions.all()[: listed + 1])
    rows = [
        _list_line(new, old) for new, old in zip(revisions, [*revisions[1:], None], strict=False)
    ]
    return {
        "rows": rows[:listed],
        "older": len(revisions) > listed,
        "zone": row.project.timezone,
        "revision_page": f"admin:{row._meta.model_name}_revision",
        "revisions_page": f"admin:{row._meta.model_name}_revisions",
    }


class Revisions:
    """Views of a row's revisions: the list, and a single one."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        listing, single = (
            self.page.guarded(self.revisions_view),
            self.page.guarded(self.revision_view),
        )
        past = "<path:object_id>/revisions/"
        return [
            path(past, listing, name=f"{self.page.opts.model_name}_revisions"),
            path(f"{past}<int:number>/", single, name=f"{self.page.opts.model_name}_revision"),
        ]

    def revisions_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self._row(request, object_id)
        context = {**history(row, LISTED), "title": _("History of “%s”") % row}
        return self._render(request, row, "revisions.html", context)

    def revision_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        row = self._row(request, object_id)
        chosen = row.revisions.filter(number=number).first()
        if chosen is None:
            raise Http404
        if request.method == "POST":
            return self._bring_back(request, row, chosen)
        before = row.revisions.filter(number=number - 1).first()
        newest = revision.newest_number(row)
        context = {
            "title": _("Revision %(number)s of “%(name)s”") % {"number": number, "name": row},
            "kept": chosen,
            "who": who(chosen.by),
            "newest": newest,
            "is_newest": number == newest,
            "first": before is None,
            "since_before": describe_changes(_changes_since(chosen, before)),
            "until_now": describe_changes(changes(row.as_stored(), chosen.content)),
            "may_change": self.page.has_change_permission(request, row),
        }
        return self._render(request, row, "revision.html", context)

    # --- Restoring -----------------------------------------------------------------------------

    def _bring_back(self, request: HttpRequest, row: Any, old_revision: Revision) -> HttpResponse:
        """Restore a revision: the old text becomes the newest revision; nothing between is lost."""
        if not self.page.has_change_permission(request, row):
            raise PermissionDenied
        this_page = HttpResponseRedirect(request.get_full_path())
        with transaction.atomic():
            revision.open_for_change(type(row), row.pk)
            row.refresh_from_db()
            if request.POST.get("newest") != str(revision.newest_number(row)):
                words = _(
                    "Somebody saved another text in the meantime. Nothing was brought "
                    "back; check the difference again."
                )
                messages.error(request, words)
                return this_page
            for name in row.KEPT:
                if name != "name":
                    setattr(
                        row,
                        name,
                        old_revision.content.get(name, row._meta.get_field(name).get_default()),
                    )
            try:
                row.full_clean()
            except ValidationError as error:
                words = " ".join(error.messages)
                messages.error(request, _("It cannot be brought back as it is: %s") % words)
                return this_page
            row.save()
            revision.keep(row, by=actor(request))
            self.page.record(request, "brought back", row, revision=old_revision.number)
        messages.success(request, _("Revision %s is back.") % old_revision.number)
        return HttpResponseRedirect(page_url(row))

    # --- Both ----------------------------------------------------------------------------------

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        # Not with get_object, as for the form: it would lock the row outside of a transaction.
        mine = self.page.get_queryset(request)
        row = get_object_or_404(mine, pk=row_id(object_id) or 0)
        if not self.page.has_view_permission(request, row):
            raise PermissionDenied
        return row

    def _render(
        self, request: HttpRequest, row: Any, name: str, context: dict[str, Any]
    ) -> HttpResponse:
        around = {
            **self.page.admin_site.each_context(request),
            "opts": self.page.opts,
            "original": row,
            "zone": row.project.timezone,
            "form_url": page_url(row),
            "history_url": reverse(f"admin:{self.page.opts.model_name}_revisions", args=[row.pk]),
        }
        return render(request, f"admin/campaigns/template/{name}", {**around, **context})


def _list_line(new: Revision, old: Revision | None) -> dict[str, Any]:
    changed = [place(change.path) for change in _changes_since(new, old)]
    return {
        "revision": new,
        "who": who(new.by),
        "first": old is None,
        "changed": changed[:6],
        "more": max(0, len(changed) - 6),
    }


def _changes_since(new: Revision, old: Revision | None) -> list[Change]:
    """The changes of a revision; for the first one, its whole content."""
    if old is not None:
        return changes(old.content, new.content)
    return [change for change in changes({}, new.content) if change.after not in ("", {})]
