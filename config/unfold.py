"""How Unfold shows the admin."""

from __future__ import annotations

from typing import Any

UNFOLD: dict[str, Any] = {"SITE_TITLE": "Carillon", "SITE_HEADER": "Carillon"}
