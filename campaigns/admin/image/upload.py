"""Image upload form, and a warning if phones cannot fetch images from this installation."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminFileFieldWidget

from notifications.images.address import our_door
from notifications.images.image import KINDS

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
