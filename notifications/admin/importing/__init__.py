"""The pages of the import: a file, its columns, the check, the work. Only the admin enters."""

from __future__ import annotations

from notifications.admin.importing.page import ImportPage

__all__ = ["ImportPage"]
