"""Template languages: how many people read each, and export and import of translations."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext
from unfold.widgets import UnfoldAdminFileFieldWidget

from campaigns.texts import revision
from campaigns.texts.template import Template
from campaigns.texts.translating import as_csv, as_xliff, readers, upload_changes
from campaigns.texts.translating.units import MAX_ASKED, MOST_BYTES, Unreadable
from campaigns.texts.translating.upload_changes import Proposal
from campaigns.texts.writing.field_labels import describe_changes, word_of
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page, actor, page_url
from notifications.values.languages import canonical, validate_locale


class FileForm(forms.Form):
    """A file that came back from the translators."""

    file = forms.FileField(
        label=gettext_lazy("CSV or XLIFF file"),
        # Unfold's own widget: its script expects the widget's parts beside every file input.
        widget=UnfoldAdminFileFieldWidget({"accept": ".csv,.tsv,.xlf,.xliff,.xml"}),
        help_text=gettext_lazy("XLIFF 1.2; at most 1 MB. Nothing is saved before you look."),
    )


class Translations:
    """Views of the language card, of both export files, and of the import page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def urls(self) -> list[URLPattern]:
        return self.page.guarded_paths(
            [
                ("<path:object_id>/languages/", self.languages_view, "template_languages"),
                ("<path:object_id>/texts.csv", self.csv_view, "template_csv"),
                ("<path:object_id>/texts.xliff", self.xliff_view, "template_xliff"),
                ("<path:object_id>/translations/", self.bring_view, "template_translations"),
            ]
        )

    def languages_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        template = self._template(request, object_id)
        counts = readers.count_readers(template.written(), template.project_id)
        context = {
            "original": template,
            "readers": counts,
            "wanted": ",".join(language.tag for language in counts.missing[:MAX_ASKED]),
            "may_change": self.page.has_change_permission(request, template),
        }
        return render(request, "admin/campaigns/template/readers.html", context)

    # --- Export --------------------------------------------------------------------------------

    def csv_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        template = self._template(request, object_id)
        text = as_csv.written(template.written(), _chosen_languages(request))
        return _file(text, "text/csv; charset=utf-8", f"template-{template.pk}.csv")

    def xliff_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        template = self._template(request, object_id)
        source = next(_tags(request.GET.get("source", "")), "en")
        name = f"template-{template.pk}"
        text = as_xliff.written(
            template.written(), _chosen_languages(request), source=source, original=name
        )
        return _file(text, "application/x-xliff+xml", f"{name}.xliff")

    # --- Import --------------------------------------------------------------------------------

    def bring_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Review a file, then save it: exactly what the review showed is saved."""
        template = self._template(request, object_id)
        if not self.page.has_change_permission(request, template):
            raise PermissionDenied
        form = FileForm(request.POST or None, request.FILES or None)
        context: dict[str, Any] = {"form": form}
        if request.method == "POST" and "text" in request.POST:
            if (reply := self._save(request, template)) is not None:
                return reply
            return HttpResponseRedirect(request.get_full_path())
        if request.method == "POST" and form.is_valid():
            # One byte over the limit is enough to refuse the file.
            file = form.cleaned_data["file"].read(MOST_BYTES + 1)
            kind = "xliff" if file.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else "csv"
            try:
                context |= _preview_upload(template, kind, file)
            except Unreadable as error:
                form.add_error("file", str(error))
        return self._render_translations(request, template, context)

    def _save(self, request: HttpRequest, template: Template) -> HttpResponse | None:
        posted = request.POST
        kind = "csv" if posted.get("kind") == "csv" else "xliff"
        with transaction.atomic():
            revision.open_for_change(Template, template.pk)
            template.refresh_from_db()
            if not _is_newest(posted.get("seen", ""), template):
                text = _("Somebody saved this template in the meantime. Look at the file again.")
                messages.error(request, text)
                return None
            try:
                proposal = upload_changes.propose(
                    template, upload_changes.parse_file(kind, posted["text"])
                )
                template.locales = proposal.locales
                template.full_clean()
            except (Unreadable, ValidationError) as error:
                words = " ".join(getattr(error, "messages", [str(error)]))
                messages.error(request, _("Nothing was saved: %s") % words)
                return None
            template.save()
            revision.keep(template, by=actor(request))
            self.page.record(
                request,
                gettext_noop("brought translations into"),
                template,
                texts=len(proposal.changes),
            )
        count = len(proposal.changes)
        text = ngettext("%(n)s text was saved.", "%(n)s texts were saved.", count)
        messages.success(request, text % {"n": count})
        return HttpResponseRedirect(page_url(template))

    # --- Both ----------------------------------------------------------------------------------

    def _template(self, request: HttpRequest, object_id: str) -> Template:
        # Not with get_object, as for the form: it would lock the row outside of a transaction.
        mine = self.page.get_queryset(request)
        template: Template = get_object_or_404(mine, pk=row_id(object_id) or 0)
        return template

    def _render_translations(
        self, request: HttpRequest, template: Template, context: dict[str, Any]
    ) -> HttpResponse:
        around = {
            **self.page.admin_site.each_context(request),
            "title": _("Translations of “%(name)s”") % {"name": template},
            "opts": self.page.opts,
            "original": template,
            "form_url": page_url(template),
        }
        return render(request, "admin/campaigns/template/translations.html", {**around, **context})


def _is_newest(number: str, template: Template) -> bool:
    """Whether `number` is the newest revision. 0 counts as 1: the first one keeps the same text."""
    return number.isdecimal() and max(int(number), 1) == max(revision.newest_number(template), 1)


def _preview_upload(template: Template, kind: str, file: bytes) -> dict[str, Any]:
    cells = upload_changes.parse_file(kind, file)
    proposal = upload_changes.propose(template, cells)
    problem = _problem_of_whole(template, proposal)
    return {
        "looked": True,
        "kind": kind,
        "text": file.decode("utf-8-sig"),
        "seen": revision.newest_number(template),
        "changes": describe_changes(proposal.changes),
        "problem": problem,
        "refused": [(refused_cell, word_of(refused_cell.id)) for refused_cell in proposal.refused],
    }


def _problem_of_whole(template: Template, proposal: Proposal) -> str:
    """Why the template could not be saved with these texts, although each is valid."""
    trial = copy(template)
    trial.locales = proposal.locales
    try:
        trial.clean()
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def _chosen_languages(request: HttpRequest) -> list[str]:
    return list(_tags(request.GET.get("languages", "")))


def _tags(text: str) -> Iterator[str]:
    """The language tags in “ko, pt_BR”. Ignores invalid ones."""
    for tag in text.split(",")[:MAX_ASKED]:
        try:
            validate_locale(tag.strip())
        except ValidationError:
            continue
        yield canonical(tag.strip())


def _file(text: str, kind: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=kind, headers=headers)
