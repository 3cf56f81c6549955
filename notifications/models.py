"""Models: imported here for Django. Each one is defined in the file that is named after it."""

from __future__ import annotations

from notifications.fcm_data.day import Asking as Asking
from notifications.fcm_data.day import FcmDay as FcmDay
from notifications.images.image import Image as Image
from notifications.inbox.item import InboxItem as InboxItem
from notifications.inbox.online_people import Feed as Feed
from notifications.inbox.online_people import Online as Online
from notifications.inbox.text import InboxText as InboxText
from notifications.keys.credentials import ServiceAccount as ServiceAccount
from notifications.keys.inbox_secret import InboxSecret as InboxSecret
from notifications.pacing.health import Health as Health
from notifications.pacing.load import Load as Load
from notifications.people.attributes import Attribute as Attribute
from notifications.people.consent.category import Category as Category
from notifications.people.consent.change import ConsentChange as ConsentChange
from notifications.people.consent.suppression import Suppression as Suppression
from notifications.people.contact import Contact as Contact
from notifications.people.device import Device as Device
from notifications.people.erased_people import Erased as Erased
from notifications.people.events.event_ids import EventId as EventId
from notifications.people.figures import Figure as Figure
from notifications.people.importing.model import Import as Import
from notifications.people.importing.model import ImportBatch as ImportBatch
from notifications.people.importing.model import ImportPart as ImportPart
from notifications.people.importing.model import ImportRefusal as ImportRefusal
from notifications.people.project import Project as Project
from notifications.people.retention import Retention as Retention
from notifications.requests.idempotency import IdempotencyKey as IdempotencyKey
from notifications.staff.api_key import ApiKey as ApiKey
from notifications.staff.audit import AuditEntry as AuditEntry
from notifications.staff.login_throttle import Guesses as Guesses
from notifications.staff.team import TeamMember as TeamMember
from notifications.webhooks.call import Call as Call
from notifications.webhooks.endpoint import Endpoint as Endpoint
from notifications.webhooks.outbox import Outgoing as Outgoing
