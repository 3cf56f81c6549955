"""Where Django looks for models; each one lives in the file named after it, with its behaviour."""

from __future__ import annotations

from campaigns.audience import Audience as Audience
from campaigns.audience import Member as Member
from campaigns.campaign import Campaign as Campaign
from campaigns.chunk import Chunk as Chunk
from campaigns.ledger import Delivery as Delivery
from campaigns.ledger import Recipient as Recipient
from campaigns.ledger import Retry as Retry
from campaigns.ledger import Window as Window
from campaigns.revision import TemplateRevision as TemplateRevision
from campaigns.run import Run as Run
from campaigns.template import Template as Template
from campaigns.tick import Tick as Tick
from campaigns.wave import Wave as Wave
