"""The marketer's pages. Importing them registers them."""

from __future__ import annotations

from campaigns.admin import campaign, run, template
from campaigns.admin.audience import audience

__all__ = ["audience", "campaign", "run", "template"]
