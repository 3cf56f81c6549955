from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("People")

    def ready(self) -> None:
        from notifications import naming  # these need the models, not there before this
        from notifications.inbox import reading as inbox  # noqa: F401  # for every export
        from notifications.outgoing import of_person
        from notifications.people.consent import suppression  # noqa: F401  # the same
        from notifications.people.erased import ERASED
        from notifications.people.events import reading  # noqa: F401  # the same
        from notifications.staff import entering  # noqa: F401  # the first listens from now on

        naming.name_rows(self, naming.FIELDS, naming.ROWS)
        ERASED.append(of_person.forget)
