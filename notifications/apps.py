from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("People")

    def ready(self) -> None:
        from notifications import field_names  # this needs the models

        field_names.name_rows(self, field_names.FIELDS, field_names.ROWS)
