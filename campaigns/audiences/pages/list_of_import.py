"""“Make a list of these”: a part of an import's result page, which must not depend on lists."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns import tasks
from campaigns.audiences.audience import Audience
from campaigns.audiences.lists import filling
from notifications.admin.ui.current_project import filter_by_project
from notifications.admin.ui.dialogs import close_dialog
from notifications.admin.ui.page import actor, page_url
from notifications.people.importing.model import Import
from notifications.staff import audit
from notifications.task_queue import enqueue_on_commit

LONGEST = 100


class NameForm(forms.Form):
    name = forms.CharField(label=gettext_lazy("Name of the list"), max_length=LONGEST)

    def __init__(self, one: Import, *args: Any) -> None:
        self.one = one
        super().__init__(*args)
        self.initial["name"] = one.name.rpartition(".")[0][:LONGEST] or one.name[:LONGEST]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Audience.objects.filter(project=self.one.project_id, name=name).exists():
            raise ValidationError(_("There is an audience of this name already. Choose another."))
        return name


def of_import_view(request: HttpRequest, import_id: int) -> HttpResponse:
    finished = Import.objects.filter(state=Import.State.FINISHED).exclude(mode=Import.Mode.REMOVE)
    file_import = get_object_or_404(filter_by_project(request, finished), pk=import_id)
    form = (
        NameForm(file_import, request.POST) if request.method == "POST" else NameForm(file_import)
    )
    if form.is_bound and form.is_valid():
        return _make_list(request, file_import, form)
    context = {"form": form, "row": file_import, "people": _people(file_import)}
    return render(request, "admin/campaigns/audience/of_import.html", context)


def _make_list(request: HttpRequest, file_import: Import, form: NameForm) -> HttpResponse:
    audience = filling.begin_of_import(
        file_import.project_id, form.cleaned_data["name"], file_import.pk
    )
    audit.record(
        actor(request), "created", audience, project=file_import.project, from_import=file_import.pk
    )
    if filling.at_once(audience):
        count = audience.members.count()
        text = ngettext(
            "“%(name)s” is a list of %(count)s person.",
            "“%(name)s” is a list of %(count)s people.",
            count,
        )
    else:
        count = _people(file_import)
        enqueue_on_commit(tasks.fill_list, audience_id=audience.pk)
        text = _("“%(name)s” is being filled with %(count)s people.")
    return close_dialog(
        request, text % {"name": audience, "count": f"{count:,}"}, to=page_url(audience)
    )


def _people(file_import: Import) -> int:
    """How many people the import created or found. A removal leaves nobody."""
    return sum(int(file_import.counts.get(name, 0)) for name in ("created", "updated", "unchanged"))
