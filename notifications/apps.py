from __future__ import annotations

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = "People"

    def ready(self) -> None:
        from notifications import entering  # noqa: F401  # listens from now on
