"""Widgets for JSON fields: tabs for languages, inputs for common options, rows for data.

The textarea's JSON is what is posted and stored; static/template_json.js keeps both in sync.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.widgets import INPUT_CLASSES, TEXTAREA_CLASSES

from campaigns.texts.buttons import MOST
from notifications.admin.ui.widgets import CodeArea
from notifications.fcm.options import PLATFORMS
from notifications.people.device import Device

# Common tags; any other can be typed.
OFFERED = (
    "ar", "bn", "cs", "da", "de", "el", "en", "en-GB", "es", "es-MX", "fi", "fr", "he", "hi", "hu",
    "id", "it", "ja", "ko", "ms", "nb", "nl", "pl", "pt", "pt-BR", "ro", "ru", "sv", "th", "tr",
    "uk", "vi", "zh", "zh-Hant",
)  # fmt: skip


class InFront(CodeArea):
    """A text area of JSON that folds away, below a form for it."""

    page: ClassVar[str]

    def context(self) -> dict[str, Any]:
        return {}

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        area = super().render(name, value, attrs, renderer)
        context = {
            "area": area,
            "name": name,
            "input_classes": " ".join(INPUT_CLASSES),
            "area_classes": " ".join(TEXTAREA_CLASSES),
        }
        return render_to_string(
            f"admin/campaigns/template/{self.page}", {**context, **self.context()}
        )


@dataclass(frozen=True)
class Line:
    """One text of a language; `lines` when it may have several."""

    name: str
    label: Any
    lines: int = 1


class Languages(InFront):
    page = "languages.html"
    texts: ClassVar[tuple[Line, ...]] = (
        Line("title", _("Title")),
        Line("body", _("Body"), lines=4),
        Line("image", _("Image")),
        Line("link", _("Link")),
    )

    def context(self) -> dict[str, Any]:
        return {"offered": OFFERED, "texts": self.texts}


class Buttons(InFront):
    page = "buttons.html"

    def context(self) -> dict[str, Any]:
        return {"most": MOST}


class Pairs(InFront):
    page = "pairs.html"


@dataclass(frozen=True)
class Field:
    """One platform option, as marketers see it. `kind`: text, number, flag or choice."""

    platform: str
    name: str
    label: Any
    kind: str = "text"
    choices: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        return str(PLATFORMS[self.platform][self.name].words)


COMMON = (
    Field("android", "channel_id", _("Notification channel")),
    Field("android", "priority", _("Priority"), "choice", ("high", "normal")),
    Field("android", "sound", _("Sound")),
    Field("android", "color", _("Colour of the icon")),
    Field("android", "tag", _("Replaces the one with the same tag")),
    Field("android", "visibility", _("On the lock screen"), "choice",
          ("private", "public", "secret")),
    Field("ios", "badge", _("Number on the icon"), "number"),
    Field("ios", "sound", _("Sound")),
    Field("ios", "interruption_level", _("How much it may disturb"), "choice",
          ("passive", "active", "time-sensitive", "critical")),
    Field("ios", "category", _("Buttons (category)")),
    Field("ios", "thread_id", _("Groups with (thread)")),
    Field("ios", "collapse_id", _("Replaces the one with the same id")),
    Field("web", "icon", _("Icon (https address)")),
    Field("web", "urgency", _("Urgency"), "choice", ("very-low", "low", "normal", "high")),
    Field("web", "tag", _("Replaces the one with the same tag")),
    Field("web", "require_interaction", _("Stays until somebody acts"), "flag"),
    Field("web", "silent", _("No sound, no vibration"), "flag"),
)  # fmt: skip


class PlatformOptions(InFront):
    page = "platform_options.html"

    def context(self) -> dict[str, Any]:
        platforms = [
            (platform, label, [field for field in COMMON if field.platform == platform])
            for platform, label in Device.Platform.choices
        ]
        return {"platforms": platforms}
