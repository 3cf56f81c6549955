from __future__ import annotations

from django.urls import path

from notifications.api.contacts import ContactByExternalId, Contacts, ContactsBulk
from notifications.api.devices import DeviceByAddress, Devices

urlpatterns = [
    path("contacts", Contacts.as_view()),
    path("contacts/bulk", ContactsBulk.as_view()),
    # The app's own ids may hold anything, a slash too.
    path("contacts/<path:external_id>", ContactByExternalId.as_view(), name="api-contact"),
    path("devices", Devices.as_view()),
    path("devices/<path:address>", DeviceByAddress.as_view()),
]
