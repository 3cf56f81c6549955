"""Device: one push address of a person.

Registering an address can move it to another person. A dead address retires its device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from django.contrib.postgres.indexes import OpClass
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce, Left
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from notifications.people.address_suffix import BACKWARDS
from notifications.people.contact import Contact
from notifications.people.installations import LENGTH, retire_older
from notifications.people.locking import lock_devices
from notifications.people.project import OfProject, Project
from notifications.values.registry import Registry
from notifications.values.text import unstorable

MAX_ADDRESS = 2_048
MAX_VERSION = 50


# Called inside the transaction that retires devices, if an endpoint wants this event.
WANTED = "device.retired"
on_devices_retired = Registry[Callable[[list[int]], object]]()


def seen_at(of: str) -> str:
    """An SQL expression: when the device was last seen. `of`: the alias of its table.

    NULL for a device that an import brought and whose app did not call since. `last_seen_at` is
    then only the time of the import: the best there is for a policy that counts days, but nobody
    saw the device.
    """
    only_told = f"{of}.registered_from = 'import' AND {of}.last_seen_at = {of}.registered_at"
    return f"CASE WHEN {only_told} THEN NULL ELSE {of}.last_seen_at END"


def validate_address(address: str) -> None:
    """Refuse only what cannot be an address: FCM promises no format."""
    if not address:
        raise ValidationError(gettext("An address must not be empty."))
    if len(address) > MAX_ADDRESS:
        text = gettext("An FCM address has at most %(most)s characters; this one has %(count)s.")
        params = {"most": f"{MAX_ADDRESS:,}", "count": f"{len(address):,}"}
        raise ValidationError(text, params=params)
    if not address.isascii() or not address.isprintable() or " " in address:
        raise ValidationError(gettext("An FCM address holds printable ASCII without spaces only."))


def validate_version(version: str) -> None:
    if len(version) > MAX_VERSION:
        text = gettext("At most %(most)s characters; there are %(count)s.")
        params = {"most": MAX_VERSION, "count": f"{len(version):,}"}
        raise ValidationError(text, params=params)
    if problem := unstorable(version):
        raise ValidationError(gettext("It %(problem)s."), params={"problem": problem})


class Device(OfProject):
    """A push address of a person, with its platform. A retired one receives nothing."""

    class Kind(models.TextChoices):
        TOKEN = "token", _("Registration token")
        FID = "fid", _("Firebase installation ID")

    class Platform(models.TextChoices):
        ANDROID = "android", _("Android")
        IOS = "ios", _("iOS")
        WEB = "web", _("Web")

    class Source(models.TextChoices):
        APP = "app", _("App")
        API = "api", _("API")
        IMPORT = "import", _("Import")
        PAGE = "page", pgettext_lazy("who told us", "by hand")

    # The contact's project; PostgreSQL checks the reference there. Other indexes begin with it.
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    contact = models.ForeignKey(Contact, on_delete=models.CASCADE, related_name="devices")
    kind = models.CharField(max_length=5, choices=Kind, default=Kind.TOKEN)
    address = models.CharField(max_length=MAX_ADDRESS, validators=[validate_address])
    platform = models.CharField(max_length=7, choices=Platform)
    app_version = models.CharField(max_length=MAX_VERSION, blank=True)
    registered_at = models.DateTimeField(help_text=_("When the app last registered this address."))
    # Who registered it. Empty: registered before this was recorded.
    registered_from = models.CharField(
        max_length=6, choices=Source, blank=True, default="", db_default="", editable=False
    )
    last_seen_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_reason = models.CharField(max_length=50, blank=True)
    # An opaque name of the sending that retired it: all that one batch retired can be restored.
    retired_by = models.CharField(max_length=50, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "kind", "address"], name="one_device_per_address"
            ),
            models.CheckConstraint(condition=~Q(address=""), name="a_device_has_an_address"),
            models.CheckConstraint(
                condition=Q(kind__in=["token", "fid"]), name="an_address_is_a_token_or_a_fid"
            ),
            models.CheckConstraint(
                condition=Q(platform__in=["android", "ios", "web"]), name="a_platform_we_know"
            ),
            models.CheckConstraint(
                condition=Q(retired_at__isnull=True, retired_reason="")
                | (Q(retired_at__isnull=False) & ~Q(retired_reason="")),
                name="a_retired_device_has_a_reason",
            ),
        ]
        indexes = [
            models.Index(
                fields=["project", "contact"],
                condition=Q(retired_at__isnull=True),
                name="active_devices_of_contact",
            ),
            models.Index(fields=["project", "id"], name="devices_of_project"),
            # See installations.py.
            models.Index(
                "project",
                Left("address", LENGTH),
                condition=Q(retired_at__isnull=True),
                name="devices_of_installation",
            ),
            # Finds a device by the end of its address, which is what a log shows.
            models.Index(
                "project", OpClass(BACKWARDS, name="text_pattern_ops"), name="device_address_tail"
            ),
            models.Index(
                fields=["retired_by"], condition=~Q(retired_by=""), name="devices_retired_by"
            ),
            models.Index(
                fields=["project", "retired_at"],
                condition=~Q(retired_by=""),
                name="dead_devices_by_day",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()} {self.short_address}"

    @property
    def short_address(self) -> str:
        return shortened(self.address)

    @property
    def seen_at(self) -> datetime | None:
        """See `seen_at` above."""
        only_told = self.registered_from == self.Source.IMPORT
        only_told = only_told and self.last_seen_at == self.registered_at
        return None if only_told else self.last_seen_at

    @property
    def active(self) -> bool:
        return self.retired_at is None


def shortened(address: str) -> str:
    """A short form of the address: enough to recognise it, too little to push to it."""
    return address if len(address) <= 20 else f"{address[:8]}…{address[-8:]}"


def retire(
    device_ids: Iterable[int], *, reason: str, by: str = "", sent_at: datetime, now: datetime
) -> int:
    """Retire devices FCM called dead, unless the app registered the address again since.

    A row that another transaction has locked is skipped: the next push finds it dead again.
    """
    with transaction.atomic():
        dead = Device.objects.filter(
            pk__in=list(device_ids), retired_at__isnull=True, registered_at__lte=sent_at
        )
        held = dead.select_for_update(skip_locked=True, of=("self",))
        free = _wanted_events(held)
        retired = Device.objects.filter(pk__in=free).update(
            retired_at=now, retired_reason=reason, retired_by=by
        )
        _tell_listeners(free)
    return retired


def retire_by_hand(device_id: int | str, *, reason: str, now: datetime) -> bool:
    """Retire one device with a guarded UPDATE. Returns False if it was retired already."""
    active = Device.objects.filter(pk=device_id, retired_at=None)
    with transaction.atomic():
        free = _wanted_events(active)
        retired = active.update(retired_at=now, retired_reason=reason, retired_by="")
        if retired:
            _tell_listeners(free)
    return bool(retired)


def _wanted_events(devices: models.QuerySet[Device]) -> dict[int, list[str]]:
    """For each device, the events that the endpoints of its project want."""
    return dict(devices.values_list("pk", "project__wanted_reports"))


def _tell_listeners(retired: dict[int, list[str]]) -> None:
    if devices := [pk for pk, wanted in retired.items() if WANTED in wanted]:
        for listener in on_devices_retired:
            listener(devices)


def unregister(project: Project, address: str, *, now: datetime, of: Contact | None = None) -> bool:
    """Remove the device with this address, of any kind. Returns whether there was one.

    `of`: only if the device is this person's.
    """
    if not address.isprintable():  # nobody can have it, and PostgreSQL cannot look for it
        return False
    matching = Device.objects.filter(project=project, kind__in=Device.Kind.values, address=address)
    if of is not None:
        matching = matching.filter(contact=of)
    with transaction.atomic():
        locked = lock_devices(matching)
        remove(locked, now=now)
    return bool(locked)


def remove(device_ids: Iterable[int], *, now: datetime) -> None:
    """Retire devices as removed by their owner. The caller has locked them, in a transaction.

    A device that a sending retired before counts as removed, too: it is not restored with the
    others of that sending.
    """
    devices = Device.objects.filter(pk__in=list(device_ids))
    retired = _wanted_events(devices.filter(retired_at=None))
    devices.filter(Q(retired_at=None) | ~Q(retired_by="")).update(
        retired_at=Coalesce("retired_at", now), retired_reason="removed", retired_by=""
    )
    _tell_listeners(retired)


def retired_by(by: str) -> models.QuerySet[Device]:
    return Device.objects.filter(retired_by=by, retired_at__isnull=False)


def restore(by: str, *, now: datetime) -> int:
    """Reactivate the devices this sending retired. Returns how many are active again.

    A device stays retired if another address of its installation was registered since.
    """
    with transaction.atomic():
        device_ids = lock_devices(retired_by(by))
        back = Device.objects.filter(pk__in=device_ids)
        back.update(retired_at=None, retired_reason="", retired_by="")
        retire_older(device_ids, now=now)
        return back.filter(retired_at=None).count()
