"""Wall clock field: a date and a time without a time zone."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from notifications.admin.ui.widgets import WallClockInput
from notifications.values.moments import validate_year


class WallClock(forms.DateTimeField):
    """A date and a time without a time zone, which another field holds."""

    widget = WallClockInput
    default_validators = [validate_year]

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        return moment.replace(tzinfo=None) if isinstance(moment, datetime) else moment
