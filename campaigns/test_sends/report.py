"""The report of a test send: each device's status, what it means, and what to do next."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from campaigns.results.reason_steps import STEPS, detail_in_words
from campaigns.runs.reasons import Cause, Reason
from campaigns.test_sends.models import DeviceTest, SentTest
from notifications.people.contact import Contact
from notifications.people.device import Device

Status = DeviceTest.Status
NO_DEVICE = "no_device"
# These differ from a run's: a test retires no device, and is not sent again.
MEANINGS: dict[str, tuple[Any, Any]] = {
    NO_DEVICE: (
        _("This person has no active device"),
        _("Open the app on their phone: it registers its address by itself."),
    ),
    Reason.THROTTLED: (
        _("FCM, or our own pace, let nothing through"),
        _("Wait a minute, then send the test again."),
    ),
    Reason.EXPIRED: (
        _("No worker sent it within four minutes"),
        _("See under Operations whether workers run, then send the test again."),
    ),
    Reason.REFUSED_MESSAGE: (
        _("FCM refused the message itself"),
        _("Correct the text: FCM's answer names the field."),
    ),
    Reason.INVALID_MESSAGE: (
        _("This message breaks one of FCM's rules"),
        _("Correct the text, or the value in it: the field is named above."),
    ),
    Reason.TEMPLATE_ERROR: (
        _("The text could not be rendered for this person"),
        _("Correct the text: the place in it is named above."),
    ),
    Reason.UNREACHABLE: (
        _("FCM could not be reached"),
        _("Check the workers' internet connection, then send the test again."),
    ),
    Reason.UNSUBSCRIBED: (
        _("This person does not want such messages"),
        _("A campaign would skip them, too. Their page shows what they declined."),
    ),
    Reason.INTERRUPTED: (
        _("A worker died while the request was on its way"),
        _("Look at the phone, or send the test again."),
    ),
    Reason.MISSING_VALUE: (
        _("A value the text needs is missing for this person"),
        _("Give the variable a fallback, such as “default: 'friend'”, or test with the values of "
          "somebody who has it."),
    ),
    Reason.DEVICE_GONE: (
        _("The device went to somebody else, or was retired, just now"),
        _("Send the test again."),
    ),
}  # fmt: skip
GIVE_THE_ROLE = _(
    "Give the service account the role “Firebase Cloud Messaging API Admin” in the Google Cloud "
    "console, then send the test again."
)
# These would pause a run: they say nothing about the device.
PROJECT_MEANINGS: dict[str, tuple[Any, Any]] = {
    "bad_credentials": (
        Cause.BAD_CREDENTIALS.label,
        _("Open the project and set a working service account, then send the test again."),
    ),
    "unauthorised": (Cause.UNAUTHORISED.label, GIVE_THE_ROLE),
    "forbidden": (Cause.UNAUTHORISED.label, GIVE_THE_ROLE),
    "wrong_project": (
        Cause.WRONG_PROJECT.label,
        _("Compare the Firebase project ID of the project with the Firebase console, correct it, "
          "then send the test again."),
    ),
}  # fmt: skip
ACCEPTED = _("FCM took it. Whether the phone shows it is for the phone to say: look at it.")


@dataclass(frozen=True)
class DeviceReport:
    """One device, for a page or the API."""

    row: DeviceTest
    contact: str  # external id
    address: str  # the end of it

    @property
    def status(self) -> str:
        return self.row.status

    @property
    def status_label(self) -> str:
        return str(Status(self.row.status).label)

    @property
    def platform_label(self) -> str:
        is_known = self.row.platform in Device.Platform.values
        return str(Device.Platform(self.row.platform).label) if is_known else ""

    @property
    def meaning(self) -> str:
        return str(_meaning(self.row)[0])

    @property
    def next_step(self) -> str:
        return str(_meaning(self.row)[1])

    @property
    def detail(self) -> str:
        """Empty if `raw` says it in full."""
        return "" if self.row.raw else detail_in_words(self.row.reason, self.row.detail)

    @property
    def raw(self) -> str:
        """Return FCM's answer, indented if it is JSON."""
        try:
            return json.dumps(json.loads(self.row.raw), indent=2, ensure_ascii=False)
        except ValueError:
            return self.row.raw


def _meaning(row: DeviceTest) -> tuple[Any, Any]:
    if row.status == Status.ACCEPTED:
        return ACCEPTED, ""
    if meaning := MEANINGS.get(row.reason) or PROJECT_MEANINGS.get(row.reason):
        return meaning
    if row.reason in Reason.values:
        return Reason(row.reason).label, STEPS.get(row.reason, "")
    return row.reason, ""


@dataclass(frozen=True)
class Report:
    """A test so far."""

    test: SentTest
    devices: list[DeviceReport]

    @property
    def finished(self) -> bool:
        return not any(device.status in (Status.WAITING, Status.SENDING) for device in self.devices)

    @property
    def counts(self) -> dict[str, int]:
        by_status = Counter(device.status for device in self.devices)
        return {status: by_status[status] for status in Status.values}


def build_report(test: SentTest) -> Report:
    rows = list(test.devices.all())
    people = Contact.objects.in_bulk({row.contact_id for row in rows})
    devices = Device.objects.in_bulk({row.device_id for row in rows if row.device_id})
    return Report(
        test,
        [
            DeviceReport(
                row,
                people[row.contact_id].external_id,
                devices[row.device_id].short_address if row.device_id in devices else "",
            )
            for row in rows
            if row.contact_id in people
        ],
    )
