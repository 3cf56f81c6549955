"""The pages of uploaded images, and the dialog that inserts one into a text."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminFileFieldWidget

from campaigns.texts.writing import image_users
from notifications.admin.ui.current_project import current_project, named
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page, actor, page_url
from notifications.admin.ui.unfolded import display
from notifications.images import image as images
from notifications.images.address import on_our_pages, our_door
from notifications.images.image import KINDS, Image
from notifications.people.project import Project
from notifications.values.moments import DAY, local

# --- The upload form ------------------------------------------------------------------------------

ACCEPTED = ",".join(KINDS.values())


class UploadForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Image"),
        # Unfold's own widget: its script expects the widget's parts beside every file input.
        widget=UnfoldAdminFileFieldWidget({"accept": ACCEPTED}),
        help_text=gettext_lazy(
            "PNG, JPEG or WebP of at most 1,000 KB; about 1,024 × 512 pixels look best. Whoever "
            "has its address can see it."
        ),
    )

    def clean(self) -> dict[str, Any]:
        if not settings.IMAGES_URL:
            text = _(
                "Phones would not find it: an engineer sets PUBLIC_URL (or IMAGES_URL) to the "
                "https address of this installation first."
            )
            raise ValidationError(text)
        return super().clean() or {}


def about_phones() -> str:
    """A warning for installations that phones cannot reach, such as one on a laptop."""
    if settings.SERVED or our_door() != settings.IMAGES_URL:
        return ""
    return _(
        "This installation is not reached by https. Its pages show the image; real phones cannot "
        "fetch it."
    )


# --- Pages ----------------------------------------------------------------------------------------

OFFERED = 24  # images per page of the dialog


@admin.register(Image)
class ImagePage(Page):
    list_display = ["title", "picture", "pixels", "kilobytes", "since"]
    list_select_related = ["project"]
    search_fields = ["title"]
    search_help_text = gettext_lazy("Name of the file")
    shown_only = True
    add_text = gettext_lazy("Upload an image")
    empty_text = gettext_lazy(
        "Upload the images of your messages here, or beside the text that you write. Images at an "
        "https address of your own need no upload."
    )
    change_form_template = "admin/campaigns/image/change_form.html"
    goes_along = gettext_lazy("Its address stops working: phones that have it still show nothing.")

    class Media:
        css = {"all": ["template.css"]}

    def get_urls(self) -> list[Any]:
        ours: list[tuple[str, Any, str]] = [("offered/", self.offered_view, "images_offered")]
        return [*self.guarded_paths(ours), *super().get_urls()]

    # --- The list ------------------------------------------------------------------------------

    @display(description=gettext_lazy("image"))
    def picture(self, obj: Image) -> SafeString:
        return format_html(
            '<img class="c-thumbnail" src="{}" alt="" width="{}" height="{}" loading="lazy">',
            on_our_pages(obj.address) or f"/i/{obj.name}",
            obj.width,
            obj.height,
        )

    @display(description=gettext_lazy("pixels"))
    def pixels(self, obj: Image) -> str:
        return f"{obj.width:,} × {obj.height:,}"

    @display(description=gettext_lazy("size"), ordering="size")
    def kilobytes(self, obj: Image) -> str:
        return in_kilobytes(obj.size)

    @display(description=gettext_lazy("since"))
    def since(self, obj: Image) -> str:
        return local(obj.created_at, obj.project.timezone, DAY)

    # --- One image -----------------------------------------------------------------------------

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return []  # its page shows it; nothing can be changed

    def used_by(self, obj: Image) -> list[str]:
        return image_users.find_users(obj)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        image: Image | None = context.get("original")
        if image is not None:
            context |= {
                "users": image_users.find_users(image),
                "size": in_kilobytes(image.size),
                "pixels": self.pixels(image),
                "about_phones": about_phones(),
            }
        return super().render_change_form(request, context, *args, **kw)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.record(request, "deleted", obj)
        images.remove(obj)

    # --- Uploading -----------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Upload an image, from the page or the dialog's script. It replaces Django's view, which
        is a transaction: remote storage must be outside of one."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        is_script = "application/json" in request.headers.get("Accept", "")
        form = UploadForm(request.POST or None, request.FILES or None)
        if request.method == "POST":
            image = self._uploaded(request, form)
            if image is not None and is_script:
                return JsonResponse({"address": image.address, "title": image.title})
            if image is not None:
                messages.success(request, _("“%(name)s” is uploaded.") % {"name": image})
                return HttpResponseRedirect(page_url(image))
            if is_script:
                words = [str(error) for errors in form.errors.values() for error in errors]
                return JsonResponse({"error": " ".join(words)}, status=400)
        context = {
            **self.admin_site.each_context(request),
            "title": _("Upload an image"),
            "opts": self.opts,
            "form": form,
            "settled_project": getattr(current_project(request), "pk", None),
            "about_phones": about_phones(),
        }
        return render(request, "admin/campaigns/image/add.html", context)

    def _uploaded(self, request: HttpRequest, form: UploadForm) -> Image | None:
        project = named(request)
        if not form.is_valid():
            return None
        if project is None:
            form.add_error(None, _("Choose a project first."))
            return None
        try:
            image = images.keep(project, form.cleaned_data["file"], by=actor(request))
        except ValidationError as error:
            form.add_error("file", error)
            return None
        self.record(request, "created", image)
        return image

    # --- Choosing one for a text ---------------------------------------------------------------

    def offered_view(self, request: HttpRequest) -> HttpResponse:
        """The project's newest images. `before` continues where the last page ended."""
        project = named(request)
        context: dict[str, Any] = {"project": project, "most": images.MOST_BYTES}
        if project is not None:
            context |= _list_offered(project, row_id(request.GET.get("before")))
        return render(request, "admin/campaigns/image/offered.html", context)


def _list_offered(project: Project, before: int | None) -> dict[str, Any]:
    mine: models.QuerySet[Image] = Image.objects.filter(project=project)
    rows = list((mine.filter(pk__lt=before) if before else mine)[: OFFERED + 1])
    return {"images": rows[:OFFERED], "older": rows[OFFERED - 1].pk if rows[OFFERED:] else None}


def in_kilobytes(size: int) -> str:
    return f"{-(-size // 1_000):,} KB"
