"""The pages of imports: the file, its columns, the check, the progress."""

from __future__ import annotations

from notifications.admin.importing.page import ImportPage

__all__ = ["ImportPage"]
