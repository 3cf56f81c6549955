"""Form inputs that Unfold lacks: code, a wall clock's time, a time zone by name."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import INPUT_CLASSES, TEXTAREA_CLASSES

from notifications.values.zones import selectable_zones, zone_of


class CodeArea(forms.Textarea):
    """A text area for JSON and the like: fixed width, no spell check, no wrapping inside words."""

    def __init__(self, *, rows: int = 6, **attrs: Any) -> None:
        classes = " ".join([*TEXTAREA_CLASSES, "c-code"])
        super().__init__({"class": classes, "rows": rows, "spellcheck": "false", **attrs})


class PlainArea(forms.Textarea):
    def __init__(self, *, rows: int = 4, **attrs: Any) -> None:
        super().__init__({"class": " ".join(TEXTAREA_CLASSES), "rows": rows, **attrs})


class LineInput(forms.TextInput):
    def __init__(self, **attrs: Any) -> None:
        super().__init__({"class": " ".join(INPUT_CLASSES), **attrs})


class WallClockInput(forms.DateTimeInput):
    """The browser's own date and time picker, which has no time zone on purpose."""

    input_type = "datetime-local"

    def __init__(self) -> None:
        classes = " ".join([*INPUT_CLASSES, "c-wall-clock"])
        super().__init__({"class": classes}, format="%Y-%m-%dT%H:%M")


class ZoneInput(forms.TextInput):
    """A text input that suggests time zones: type “seo” and choose Asia/Seoul."""

    def __init__(self) -> None:
        super().__init__({"class": " ".join(INPUT_CLASSES), "autocomplete": "off"})

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        listed = f"{name}-zones"
        options = format_html_join(
            "", '<option value="{}">', ((zone,) for zone in selectable_zones())
        )
        field = super().render(name, value, {**(attrs or {}), "list": listed}, renderer)
        return format_html('{}<datalist id="{}">{}</datalist>', field, listed, options)


class ZoneField(forms.CharField):
    """A time zone by its name or city: “New York” is America/New_York."""

    widget = ZoneInput

    def to_python(self, value: Any) -> str:
        typed = super().to_python(value) or ""
        return zone_of(typed) or typed
