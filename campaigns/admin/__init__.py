"""Admin pages for marketers. Importing this package registers them."""

from __future__ import annotations

from campaigns.audiences.pages.attribute import AttributePage
from campaigns.audiences.pages.audience import AudiencePage
from campaigns.planning.pages.campaign import CampaignPage
from campaigns.planning.pages.category import CategoryPage
from campaigns.runs.pages.run import RunPage
from campaigns.texts.pages.image import ImagePage
from campaigns.texts.pages.snippet import SnippetPage
from campaigns.texts.pages.template import TemplatePage
from campaigns.triggers.pages.automation import AutomationPage
from campaigns.webhooks.pages import EndpointPage

__all__ = [
    "AttributePage", "AudiencePage", "AutomationPage", "CampaignPage", "CategoryPage",
    "EndpointPage", "ImagePage", "RunPage", "SnippetPage", "TemplatePage",
]  # fmt: skip
