"""A date and a time as a clock on the wall shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms

from notifications.admin.ui.widgets import WallClockInput
from notifications.values.moments import validate_year


class WallClock(forms.DateTimeField):
    """What a clock on the wall shows; the zone is another field's business."""

    widget = WallClockInput
    default_validators = [validate_year]

    def to_python(self, value: Any) -> Any:
        moment = super().to_python(value)
        return moment.replace(tzinfo=None) if isinstance(moment, datetime) else moment
