"""Durations typed as people say them (“15 min”), stored as seconds."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from notifications.admin.ui.widgets import LineInput
from notifications.values.moments import in_words, seconds_of


class DurationText(forms.CharField):
    widget = LineInput

    def __init__(self, *, least: int, most: int, **kwargs: Any) -> None:
        self.least, self.most = least, most
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        seconds = seconds_of(text)
        if seconds is None:
            raise ValidationError(_("Write it like “15 min”, “1 h 30 min” or “2 days”."))
        if not self.least <= seconds <= self.most:
            message = _("Between %(least)s and %(most)s.")
            raise ValidationError(
                message % {"least": in_words(self.least), "most": in_words(self.most)}
            )
        return seconds

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, int):
            return value
        text = in_words(value)
        return text if seconds_of(text) == value else f"{value} s"
