from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:
        from campaigns import field_names, registrations  # noqa: F401  # these need the models
        from campaigns.runs.policy import SETTINGS
        from notifications.field_names import name_columns, name_rows

        name_rows(self, field_names.FIELDS, field_names.ROWS)
        name_columns({setting.field: setting.words for setting in SETTINGS}, self.get_models())
