from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("People")

    def ready(self) -> None:
        from notifications import naming  # this needs the models

        naming.name_rows(self, naming.FIELDS, naming.ROWS)
