from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:
        from campaigns import naming, registrations  # noqa: F401  # these need the models
        from campaigns.runs.policy import SETTINGS
        from notifications.naming import name_columns, name_rows

        name_rows(self, naming.FIELDS, naming.ROWS)
        name_columns({setting.field: setting.words for setting in SETTINGS}, self.get_models())
