"""Migrations of campaigns name modules of notifications, too."""

import notifications.migrations  # noqa: F401
