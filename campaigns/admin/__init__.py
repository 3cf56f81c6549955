"""The marketer's pages. Importing them registers them."""

from __future__ import annotations

from campaigns.admin import audience, campaign, run, template

__all__ = ["audience", "campaign", "run", "template"]
