"""The marketer's pages. Importing them registers them."""

from __future__ import annotations

from campaigns.admin.audience import audience
from campaigns.admin.campaign import campaign
from campaigns.admin.run import run
from campaigns.admin.template import template

__all__ = ["audience", "campaign", "run", "template"]
