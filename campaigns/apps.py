from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:
        from campaigns import naming, tasks  # these need the models, not there before this
        from campaigns.audiences import membership  # noqa: F401  # it says what it knows of people
        from campaigns.results import sent  # noqa: F401  # so does this
        from campaigns.runs.messages.of_person import forget
        from campaigns.runs.policy import SETTINGS
        from campaigns.runs.run import messages_leave
        from campaigns.triggers import going
        from notifications import imports
        from notifications.naming import name_columns, name_rows
        from notifications.people.contact import ERASED
        from notifications.people.events import clearing, writing

        name_rows(self, naming.FIELDS, naming.ROWS)
        name_columns({setting.field: setting.words for setting in SETTINGS}, self.get_models())
        imports.URGENT.append(messages_leave)
        ERASED.append(forget)
        writing.LISTENERS.append(tasks.answer_events)
        clearing.WITH_THEM.append(going.remove_old)
