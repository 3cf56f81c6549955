"""Admin pages of people, devices, API keys and projects. Importing this package registers them."""

from __future__ import annotations

from notifications.admin import (
    api_key,
    audit,
    contact,
    device,
    importing,
    project,
    suppressions,
    user,
)

__all__ = [
    "api_key",
    "audit",
    "contact",
    "device",
    "importing",
    "project",
    "suppressions",
    "user",
]
