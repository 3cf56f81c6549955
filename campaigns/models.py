"""Where Django looks for models; each one lives in the file named after it, with its behaviour."""

from __future__ import annotations

from campaigns.alerts.alert import Alert as Alert
from campaigns.audiences.audience import Audience as Audience
from campaigns.audiences.audience import Member as Member
from campaigns.echo.goal import Conversion as Conversion
from campaigns.echo.goal import GoalSum as GoalSum
from campaigns.echo.goal import Touch as Touch
from campaigns.echo.receipt import EchoSum as EchoSum
from campaigns.echo.receipt import Receipt as Receipt
from campaigns.echo.receipt import Reporter as Reporter
from campaigns.echo.recount import Recount as Recount
from campaigns.first_part.first_part import FirstPart as FirstPart
from campaigns.planning.campaign import Campaign as Campaign
from campaigns.planning.foreseen.foreseen import Foreseen as Foreseen
from campaigns.planning.text_check.text_check import TextCheck as TextCheck
from campaigns.planning.variants.variant import Variant as Variant
from campaigns.runs.best_hour.opens import Opens as Opens
from campaigns.runs.caps.counted import Counted as Counted
from campaigns.runs.chunk import Chunk as Chunk
from campaigns.runs.had.had import Had as Had
from campaigns.runs.had.had import Remembered as Remembered
from campaigns.runs.ledger import Answer as Answer
from campaigns.runs.ledger import Delivery as Delivery
from campaigns.runs.ledger import Recipient as Recipient
from campaigns.runs.ledger import Retry as Retry
from campaigns.runs.ledger import Window as Window
from campaigns.runs.messages.message import Deduplication as Deduplication
from campaigns.runs.messages.message import Message as Message
from campaigns.runs.rehearsals.rehearsal import Rehearsal as Rehearsal
from campaigns.runs.revisions.revision import RunRevision as RunRevision
from campaigns.runs.run import Run as Run
from campaigns.runs.sums import Breakdown as Breakdown
from campaigns.runs.tick import Tick as Tick
from campaigns.runs.variants.variant import RunVariant as RunVariant
from campaigns.runs.wave import Wave as Wave
from campaigns.test_sends.sent_test import DeviceTest as DeviceTest
from campaigns.test_sends.sent_test import SentTest as SentTest
from campaigns.texts.snippets.snippet import Snippet as Snippet
from campaigns.texts.snippets.snippet import SnippetRevision as SnippetRevision
from campaigns.texts.snippets.using import SnippetUse as SnippetUse
from campaigns.texts.template import Template as Template
from campaigns.texts.template import TemplateRevision as TemplateRevision
from campaigns.triggers.automation import Automation as Automation
from campaigns.triggers.trigger import LastSent as LastSent
from campaigns.triggers.trigger import Trigger as Trigger
