"""Filing: campaign actions for tags and the archive, for one campaign or several."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.planning import tags_and_archive
from campaigns.planning.campaign import Campaign
from campaigns.runs import series
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog, refused
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.unfolded import action
from notifications.admin.ui.widgets import LineInput

HOW_TO_TAG = gettext_lazy("Separate tags with commas. At most ten, e.g. shop, spring.")


class TagsDialog(Dialog):
    tags = forms.CharField(
        label=gettext_lazy("Tags"), required=False, widget=LineInput(autocomplete="off"),
        help_text=HOW_TO_TAG,
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        campaign = Campaign.objects.filter(pk=self.object_id or 0).first()
        self.initial = {"tags": ", ".join(campaign.tags) if campaign else ""}

    def clean_tags(self) -> list[str]:
        return tags_and_archive.tags_in(self.cleaned_data["tags"])


# --- One campaign ---------------------------------------------------------------------------------


@action(
    description=gettext_lazy("Tags"),
    icon="sell",
    permissions=["filing"],
    dialog=ask(gettext_lazy("Tags of this campaign"), form=TagsDialog, button=gettext_lazy("Save")),
)
def tag(page: Page, request: HttpRequest, form: TagsDialog, object_id: str) -> HttpResponse:
    campaign = Campaign.objects.select_related("project").get(pk=object_id)
    try:
        tags_and_archive.set_tags(campaign, form.cleaned_data["tags"], by=actor(request))
    except ValidationError as error:
        return refused(request, form, " ".join(error.messages))
    return close_dialog(request, _("The tags are saved."), to=page_url(campaign))


@action(
    description=gettext_lazy("Archive"),
    icon="inventory_2",
    permissions=["filing"],
    dialog=ask(
        gettext_lazy("Archive this campaign?"),
        text=gettext_lazy(
            "It leaves the list; its runs and results stay, and you can bring it back."
        ),
        button=gettext_lazy("Archive"),
    ),
)
def archive(page: Page, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
    mine = page.get_queryset(request).filter(pk=object_id)
    filed = tags_and_archive.archive(mine, by=actor(request), now=timezone.now())
    if filed.kept:
        return refused(request, form, _explain_refusal(filed.kept[0]))
    url = page_url(Campaign(pk=object_id))
    return close_dialog(request, _("It is archived; the filter “Archived” shows it."), to=url)


@action(
    description=gettext_lazy("Bring back"),
    icon="unarchive",
    permissions=["filing"],
    dialog=ask(gettext_lazy("Bring it back into the list?"), button=gettext_lazy("Bring back")),
)
def bring_back(page: Page, request: HttpRequest, form: Dialog, object_id: str) -> HttpResponse:
    tags_and_archive.bring_back(page.get_queryset(request).filter(pk=object_id), by=actor(request))
    return close_dialog(request, _("It is in the list again."), to=page_url(Campaign(pk=object_id)))


# --- Several campaigns ----------------------------------------------------------------------------


@admin.action(description=gettext_lazy("Add tags"), permissions=["filing"])
def tag_many(page: Page, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    error = ""
    if "confirmed" in request.POST:
        try:
            tags = tags_and_archive.tags_in(request.POST.get("tags", ""))
            if not tags:
                raise ValidationError(_("Write at least one tag."))
            tags_and_archive.add_tags(queryset.select_related("project"), tags, by=actor(request))
        except ValidationError as refusal:
            error = " ".join(refusal.messages)
        else:
            return _report_done(request, _("Tagged: %(names)s."), list(queryset))
    title, hint = _("Add tags to these campaigns"), str(HOW_TO_TAG)
    return _confirm(page, request, queryset, title=title, hint=hint, error=error)


@admin.action(description=gettext_lazy("Archive"), permissions=["filing"])
def archive_many(page: Page, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    if "confirmed" not in request.POST:
        return _confirm(
            page,
            request,
            queryset,
            title=_("Archive these campaigns?"),
            hint=_("They leave the list; runs and results stay, and you can bring them back."),
            kept=tags_and_archive.unfinished(queryset),
        )
    filed = tags_and_archive.archive(queryset, by=actor(request), now=timezone.now())
    if filed.kept:
        text = _("Not archived because a run is not finished: %(names)s.")
        messages.warning(request, text % {"names": named(filed.kept)})
    return _report_done(request, _("Archived: %(names)s."), filed.done)


@admin.action(description=gettext_lazy("Bring back"), permissions=["filing"])
def bring_back_many(
    page: Page, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponse | None:
    if "confirmed" not in request.POST:
        title = _("Bring these campaigns back into the list?")
        return _confirm(page, request, queryset.exclude(archived_at=None), title=title, hint="")
    filed = tags_and_archive.bring_back(queryset, by=actor(request))
    return _report_done(request, _("In the list again: %(names)s."), filed.done)


def _confirm(
    page: Page, request: HttpRequest, queryset: QuerySet[Any], **words: Any
) -> HttpResponse:
    unfinished = set(words.pop("kept", Campaign.objects.none()).values_list("pk", flat=True))
    context = {
        **page.admin_site.each_context(request),
        **words,
        "opts": page.opts,
        "verb": request.POST.get("action", ""),
        "rows": [(row, row.pk in unfinished) for row in queryset],
        "possible": any(row.pk not in unfinished for row in queryset),
        "tags": request.POST.get("tags", ""),
        "known_tags": tags_and_archive.known_tags(row.project_id for row in queryset),
    }
    return TemplateResponse(request, "admin/campaigns/campaign/many.html", context)


def _report_done(request: HttpRequest, text: str, rows: list[Any]) -> HttpResponse:
    if rows:
        messages.success(request, text % {"names": named(rows)})
    return HttpResponseRedirect(request.get_full_path())


def _explain_refusal(campaign: Campaign) -> str:
    """What to do before archiving. A series would replace a cancelled run with another."""
    last = campaign.series
    if last is not None and series.goes_on(last, timezone.now()):
        return _("It repeats. Stop that first.")
    return _("A run of it is not finished. Cancel that first.")


def named(rows: list[Campaign]) -> str:
    names = ", ".join(f"“{row}”" for row in rows[:3])
    more = len(rows) - 3
    text = ngettext("%(shown)s and %(more)d more", "%(shown)s and %(more)d more", more)
    return text % {"shown": names, "more": more} if more > 0 else names
