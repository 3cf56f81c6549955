"""Where Django looks for models; each one lives in the file named after it, with its behaviour."""

from __future__ import annotations

from notifications.access import ApiKey as ApiKey
from notifications.audit import AuditEntry as AuditEntry
from notifications.guessing import Guesses as Guesses
from notifications.keys.credentials import ServiceAccount as ServiceAccount
from notifications.people.contact import Contact as Contact
from notifications.people.device import Device as Device
from notifications.people.project import Project as Project
from notifications.requests.idempotency import IdempotencyKey as IdempotencyKey
from notifications.team import TeamMember as TeamMember
