"""Admin pages for marketers. Importing this package registers them."""

from __future__ import annotations

from campaigns.admin.attribute import AttributePage
from campaigns.admin.audience.audience import AudiencePage
from campaigns.admin.automation.automation import AutomationPage
from campaigns.admin.campaign.campaign import CampaignPage
from campaigns.admin.category import CategoryPage
from campaigns.admin.image import ImagePage
from campaigns.admin.run.run import RunPage
from campaigns.admin.snippet import SnippetPage
from campaigns.admin.template.template import TemplatePage
from campaigns.webhooks.pages import EndpointPage

__all__ = [
    "AttributePage", "AudiencePage", "AutomationPage", "CampaignPage", "CategoryPage",
    "EndpointPage", "ImagePage", "RunPage", "SnippetPage", "TemplatePage",
]  # fmt: skip
