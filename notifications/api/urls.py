from __future__ import annotations

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from notifications.api.consent import (
    Categories,
    CategoryById,
    SuppressionByExternalId,
    Suppressions,
)
from notifications.api.contacts import ContactByExternalId, Contacts, ContactsBulk
from notifications.api.devices import DeviceByAddress, Devices
from notifications.api.events import Events
from notifications.api.export import Export
from notifications.api.person.devices import PersonsDevice, PersonsDevices
from notifications.api.person.inbox import (
    Inbox,
    InboxCountsOfOne,
    PersonsInbox,
    PersonsInboxCounts,
    PersonsInboxItem,
)
from notifications.api.person.marks import PersonsMark, of_many
from notifications.api.person.preferences import PersonsAnswers
from notifications.api.person.stream import PersonsStream, PersonsTicket
from notifications.api.person.token import ENDING, token_or_contact
from notifications.inbox.marking import MARKS


class Anything(StringConverter):
    """A line break too: what an id may not hold is refused by its field, not as an address."""

    regex = "(?s:.+)"


register_converter(Anything, "anything")

urlpatterns = [
    path("contacts", Contacts.as_view()),
    path("contacts/bulk", ContactsBulk.as_view()),
    path(f"contacts/<anything:external_id>/{ENDING}", token_or_contact),
    # The app's own ids may hold anything, a slash too.
    path("contacts/<anything:external_id>", ContactByExternalId.as_view(), name="api-contact"),
    path("categories", Categories.as_view()),
    path("categories/<int:pk>", CategoryById.as_view(), name="api-category"),
    path("suppressions", Suppressions.as_view()),
    path("suppressions/<path:external_id>", SuppressionByExternalId.as_view()),
    path("devices", Devices.as_view()),
    path("export", Export.as_view()),
    path("devices/<path:address>", DeviceByAddress.as_view()),
    path("events", Events.as_view()),
    path("inbox", Inbox.as_view()),
    path("inbox/counts", InboxCountsOfOne.as_view()),
    # With a person's inbox token.
    path("me/devices", PersonsDevices.as_view()),
    path("me/devices/<path:address>", PersonsDevice.as_view()),
    path("me/preferences", PersonsAnswers.as_view()),
    path("me/inbox", PersonsInbox.as_view()),
    path("me/inbox/counts", PersonsInboxCounts.as_view()),
    path("me/inbox/<int:pk>", PersonsInboxItem.as_view()),
    *(path(f"me/inbox/{mark}", of_many(mark).as_view()) for mark in MARKS),
    *(path(f"me/inbox/<int:pk>/{mark}", PersonsMark.as_view(mark=mark)) for mark in MARKS),
    path("me/inbox/stream", PersonsStream.as_view()),
    path("me/inbox/ticket", PersonsTicket.as_view()),
]
