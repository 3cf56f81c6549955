"""The pages of a template's past: what each revision changed, and the way back to it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _

from campaigns.admin.template.meanwhile import who
from campaigns.texts import revision
from campaigns.texts.comparison import Change, changes
from campaigns.texts.revision import CONTENT_FIELDS, TemplateRevision
from campaigns.texts.template import Template
from campaigns.texts.writing.places import place, shown
from notifications.admin.furniture.keyset import row_id
from notifications.admin.furniture.page import Page, actor, page_url

BESIDE_THE_FORM, LISTED = 5, 200


def history(template: Template, listed: int = BESIDE_THE_FORM) -> dict[str, Any]:
    """The newest revisions, and whether there are older ones."""
    kept = list(template.revisions.all()[: listed + 1])
    rows = [_row(new, old) for new, old in zip(kept, [*kept[1:], None], strict=False)]
    return {
        "rows": rows[:listed],
        "older": len(kept) > listed,
        "zone": template.project.timezone,
    }


class Revisions:
    """The list of a template's revisions, and one of them."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        listed, one = self.page.guarded(self.revisions_view), self.page.guarded(self.revision_view)
        past = "<path:object_id>/revisions/"
        return [
            path(past, listed, name="template_revisions"),
            path(f"{past}<int:number>/", one, name="template_revision"),
        ]

    def revisions_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        template = self._template(request, object_id)
        context = {**history(template, LISTED), "title": _("History of “%s”") % template}
        return self._drawn(request, template, "revisions.html", context)

    def revision_view(self, request: HttpRequest, object_id: str, number: int) -> HttpResponse:
        template = self._template(request, object_id)
        kept = template.revisions.filter(number=number).first()
        if kept is None:
            raise Http404
        if request.method == "POST":
            return self._bring_back(request, template, kept)
        before = template.revisions.filter(number=number - 1).first()
        newest = revision.newest_number(template)
        context = {
            "title": _("Revision %(number)s of “%(name)s”") % {"number": number, "name": template},
            "kept": kept,
            "who": who(kept.by),
            "newest": newest,
            "is_newest": number == newest,
            "first": before is None,
            "since_before": shown(_changed(kept, before)),
            "until_now": shown(changes(revision.content_of(template), kept.content)),
            "may_change": self.page.has_change_permission(request, template),
        }
        return self._drawn(request, template, "revision.html", context)

    # --- The way back --------------------------------------------------------------------------

    def _bring_back(
        self, request: HttpRequest, template: Template, kept: TemplateRevision
    ) -> HttpResponse:
        """The old text becomes the newest revision; nothing between is lost."""
        if not self.page.has_change_permission(request, template):
            raise PermissionDenied
        here = HttpResponseRedirect(request.get_full_path())
        with transaction.atomic():
            revision.open_for_change(template.pk)
            template.refresh_from_db()
            if request.POST.get("newest") != str(revision.newest_number(template)):
                words = _(
                    "Somebody saved this template in the meantime. Nothing was brought "
                    "back; check the difference again."
                )
                messages.error(request, words)
                return here
            for name in CONTENT_FIELDS:
                if name != "name":
                    setattr(template, name, kept.content.get(name, getattr(template, name)))
            try:
                template.full_clean()
            except ValidationError as error:
                words = " ".join(error.messages)
                messages.error(request, _("It cannot be brought back as it is: %s") % words)
                return here
            template.save()
            revision.keep(template, by=actor(request))
            self.page.record(request, "brought back", template, revision=kept.number)
        messages.success(request, _("Revision %s is back.") % kept.number)
        return HttpResponseRedirect(page_url(template))

    # --- Both ----------------------------------------------------------------------------------

    def _template(self, request: HttpRequest, object_id: str) -> Template:
        # Not as the form asks for it: that would lock the row, outside of a transaction.
        mine = self.page.get_queryset(request)
        template: Template = get_object_or_404(mine, pk=row_id(object_id) or 0)
        if not self.page.has_view_permission(request, template):
            raise PermissionDenied
        return template

    def _drawn(
        self, request: HttpRequest, template: Template, name: str, context: dict[str, Any]
    ) -> HttpResponse:
        around = {
            **self.page.admin_site.each_context(request),
            "opts": self.page.opts,
            "original": template,
            "zone": template.project.timezone,
            "form_url": page_url(template),
            "history_url": reverse("admin:template_revisions", args=[template.pk]),
        }
        return render(request, f"admin/campaigns/template/{name}", {**around, **context})


def _row(new: TemplateRevision, old: TemplateRevision | None) -> dict[str, Any]:
    changed = [place(change.path) for change in _changed(new, old)]
    return {
        "revision": new,
        "who": who(new.by),
        "first": old is None,
        "changed": changed[:6],
        "more": max(0, len(changed) - 6),
    }


def _changed(new: TemplateRevision, old: TemplateRevision | None) -> list[Change]:
    """What it changed; of the first one, what it says at all."""
    if old is not None:
        return changes(old.content, new.content)
    return [change for change in changes({}, new.content) if change.after not in ("", {})]
