"""Project: a Firebase project and its people. Everything else belongs to exactly one."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from notifications.people import images, origins
from notifications.values.zones import validate_zone

AN_ANDROID_APP = re.compile(r"1:[0-9]{1,20}:android:[0-9a-f]{8,40}", re.ASCII)
FLOOR = 10  # messages a second
# The bounds of frequency caps, which count messages to the same person.
PER_DAY = [MinValueValidator(1), MaxValueValidator(100)]
PER_WEEK = [MinValueValidator(1), MaxValueValidator(500)]
GAP_MINUTES = [MinValueValidator(1), MaxValueValidator(10_080)]
LONGEST_NUMBER = 200
A_FIREBASE_ID = re.compile(r"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+:)?[a-z0-9-]{6,30}")


class CountedLinks(models.TextChoices):
    """Which links lead through our address, so that their openings are counted."""

    NONE = "", _("None")
    BROWSERS = "web", _("Web push: what the browser opens by itself")
    EVERY = "every", _("Every https link, also what apps open")


def wrong_caps(row: Any) -> dict[str, Any]:
    """Errors in the caps of a project or a category, by field."""
    if row.cap_per_day and row.cap_per_week and row.cap_per_week < row.cap_per_day:
        text = _("Fewer in seven days than in one: the day's limit would never be reached.")
        return {"cap_per_week": text}
    return {}


def leads_through_us() -> bool:
    """Whether links may lead through our address: FCM accepts only https."""
    return str(settings.PHONES_URL).startswith("https://")


class Project(models.Model):
    """A project: its people, the Firebase project that reaches them, and its settings."""

    slug = models.SlugField(unique=True, help_text=_("Short name used by commands and the API."))
    name = models.CharField(max_length=100)
    firebase_project_id = models.CharField(
        "Firebase project ID", max_length=100, help_text=_("As the Firebase console shows it.")
    )
    uses_emulator = models.BooleanField(
        default=True,
        help_text=_(
            "Send to the FCM emulator, not to Google. Setting credentials switches it off."
        ),
    )
    quota_per_minute = models.PositiveIntegerField(
        default=600_000,
        validators=[MinValueValidator(60)],
        # xgettext:no-python-format
        help_text=_("FCM's quota of this Firebase project. We send at most 80 % of it."),
    )
    ramp_seconds = models.PositiveIntegerField(
        "seconds to full speed",
        default=60,
        validators=[MaxValueValidator(3_600)],
        help_text=_("After a rest the rate grows over this time, as Google asks. 0: at once."),
    )
    floor_per_second = models.PositiveIntegerField(
        "at least, per second",
        blank=True,
        default=FLOOR,
        db_default=FLOOR,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        help_text=_(
            "However busy your own servers say they are (docs/timing.md), what is sent to many "
            "goes on at this rate. Where nobody reports it, it means nothing."
        ),
    )
    # Where the project's servers report how busy they are, and the number to read there; see
    # pacing/health.py.
    load_url = models.CharField(
        "health address", max_length=2_048, blank=True, default="", db_default="", editable=False
    )
    load_number = models.CharField(
        "number there", max_length=LONGEST_NUMBER, blank=True, default="", db_default="",
        editable=False,
    )  # fmt: skip
    uses_default_credentials = models.BooleanField(
        default=False,
        help_text=_("Application default credentials of the machine, instead of an uploaded key."),
    )
    timezone = models.CharField(
        "time zone", max_length=64, default="UTC", validators=[validate_zone]
    )
    image_hosts = ArrayField(
        models.CharField(max_length=255),
        blank=True,
        default=list,
        db_default=[],
        help_text=_(
            "Our pages show images from these hosts only, such as cdn.example.com or "
            "*.example.com, with commas between them. Phones fetch them from anywhere."
        ),
    )
    own_hosts = ArrayField(
        models.CharField(max_length=255),
        blank=True,
        default=list,
        db_default=[],
        help_text=_(
            "Hosts of your own, such as shop.example.com or *.example.com, with commas between "
            "them. A text check tries links and images of these only, if somebody asks for it."
        ),
    )
    allowed_origins = ArrayField(
        models.CharField(max_length=255),
        blank=True,
        default=list,
        db_default=[],
        help_text=_(
            "Web pages that may call us with a person's inbox token, such as "
            "https://shop.example.com, with commas between them. Phone apps need no entry."
        ),
    )
    # Off for projects that are older than this setting.
    leave_out_unseen_days = models.PositiveSmallIntegerField(
        "leave out devices unseen for days",
        null=True,
        blank=True,
        default=270,
        validators=[MinValueValidator(1), MaxValueValidator(3_650)],
        help_text=_(
            "Devices whose app was not opened for this long get no messages: FCM would "
            "call most of them dead. Empty: none is left out."
        ),
    )
    # By the clock where each person is; both, or neither. See consent/quiet_hours.py.
    quiet_from = models.TimeField(
        "quiet from",
        null=True,
        blank=True,
        help_text=_(
            "By the clock where the person is, such as 21:00. Messages that come due later wait "
            "until the morning; what expires before is skipped. Critical categories go at any "
            "hour, and others that say so. Empty: no quiet hours."
        ),
    )
    quiet_until = models.TimeField(
        "quiet until",
        null=True,
        blank=True,
        help_text=_("Such as 08:00. People without a time zone go by the project's."),
    )
    # All messages of a person count, in 24 hours and in seven days; see consent/caps.py.
    cap_per_day = models.PositiveSmallIntegerField(
        "at most, a day",
        null=True,
        blank=True,
        validators=PER_DAY,
        help_text=_(
            "So many messages a person gets in 24 hours, whatever they are of; further ones skip "
            "them. What is transactional or critical always reaches them, and categories say "
            "otherwise. Empty: no limit."
        ),
    )
    cap_per_week = models.PositiveSmallIntegerField(
        "at most, in seven days",
        null=True,
        blank=True,
        validators=PER_WEEK,
        help_text=_("The same in seven days. Empty: no limit."),
    )
    cap_gap_minutes = models.PositiveSmallIntegerField(
        "at least, minutes between two",
        null=True,
        blank=True,
        validators=GAP_MINUTES,
        help_text=_("What would come sooner after another message skips the person. Empty: none."),
    )
    holdout_percent = models.PositiveSmallIntegerField(
        "holdout, percent",
        blank=True,
        default=0,
        db_default=0,
        validators=[MaxValueValidator(50)],
        help_text=_(
            "So many of the people, always the same ones, get nothing of what is sent to many: "
            "compare what they do with what the others do. Messages to single people, and what is "
            "transactional or critical, reach them. 0: nobody is held out."
        ),
    )
    asks_receipts = models.BooleanField(
        "ask for receipts",
        default=False,
        db_default=False,
        help_text=_(
            "Results then tell how many opened a message. Each carries an id by which your app "
            "reports that it was received, shown or opened; the app has to be made ready for "
            "that (docs/receipts.md). It takes about 60 of the 4,096 bytes."
        ),
    )
    counts_links = models.CharField(
        "count opened links",
        max_length=5,
        choices=CountedLinks,
        blank=True,
        default=CountedLinks.NONE,
        db_default=CountedLinks.NONE.value,
        help_text=_(
            "The link leads through our address, which counts it as opened and leads on at once. "
            "It takes about 75 bytes and the link itself by a third longer."
        ),
    )
    fcm_app_id = models.CharField(
        "Android app ID",
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "Such as 1:1234567890:android:321abc456def7890, from the Firebase console → Project "
            "settings → Your apps. With it, FCM's own figures are fetched once a day. Empty: they "
            "are not."
        ),
    )
    # The event types that some endpoint wants. Only webhooks/endpoint.py writes it.
    wanted_reports = ArrayField(
        models.CharField(max_length=20), default=list, db_default=[], editable=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(quota_per_minute__gte=60), name="a_project_has_a_quota"
            ),
            models.CheckConstraint(
                condition=Q(floor_per_second__gte=1), name="a_floor_is_at_least_one"
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | (
                    Q(quiet_from__isnull=False, quiet_until__isnull=False)
                    & ~Q(quiet_from=F("quiet_until"))
                ),
                name="quiet_hours_begin_and_end",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save all but `wanted_reports`: a page that is saved late must not undo it."""
        if not self._state.adding and kwargs.get("update_fields") is None:
            names = {field.name for field in self._meta.concrete_fields if not field.primary_key}
            kwargs["update_fields"] = names - {"wanted_reports"}
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """Refuse wrong fields. A stored Firebase ID may stay: it is checked when it is new."""
        wrong: dict[str, Any] = {}
        self.holdout_percent = self.holdout_percent or 0  # an empty field holds nobody out
        if self.floor_per_second is None:  # empty, or from a page that is older than the field
            self.floor_per_second = FLOOR
        try:
            self.image_hosts = images.in_order(self.image_hosts)
        except ValidationError as error:
            wrong["image_hosts"] = error
        try:
            self.own_hosts = images.in_order(self.own_hosts)
        except ValidationError as error:
            wrong["own_hosts"] = error
        try:
            self.allowed_origins = origins.in_order(self.allowed_origins)
        except ValidationError as error:
            wrong["allowed_origins"] = error
        if self.name and not self.name.strip():
            wrong["name"] = _("Write more than spaces.")
        wrong |= self._wrong_quiet_hours() | wrong_caps(self)
        given = self.firebase_project_id
        if given and given != self._stored_id and not A_FIREBASE_ID.fullmatch(given):
            wrong["firebase_project_id"] = _(
                "A project ID has 6 to 30 of a–z, 0–9 and -. It is neither the project's name nor "
                "its number: the Firebase console shows it in the project settings."
            )
        if self.fcm_app_id and not AN_ANDROID_APP.fullmatch(self.fcm_app_id):
            wrong["fcm_app_id"] = _(
                "An Android app's ID looks like 1:1234567890:android:321abc456def7890. It is "
                "neither the package's name nor an API key."
            )
        if self.counts_links and not leads_through_us():
            wrong["counts_links"] = _(
                "FCM takes https links only: an engineer sets PUBLIC_URL to this installation's "
                "https:// address first."
            )
        if wrong:
            raise ValidationError(wrong)

    def _wrong_quiet_hours(self) -> dict[str, Any]:
        if self.quiet_from is None and self.quiet_until is None:
            return {}
        if self.quiet_from is None:
            return {"quiet_from": _("Say when they begin, too, or leave both empty.")}
        if self.quiet_until is None:
            return {"quiet_until": _("Say when they end, too, or leave both empty.")}
        if self.quiet_from == self.quiet_until:
            return {"quiet_until": _("They would never end. Choose another time.")}
        return {}

    @classmethod
    def any_allows(cls, origin: str) -> bool:
        return cls.objects.filter(allowed_origins__contains=[origin]).exists()

    @property
    def _stored_id(self) -> str | None:
        stored = Project.objects.filter(pk=self.pk)
        return stored.values_list("firebase_project_id", flat=True).first()

    @property
    def lowest_quota(self) -> int:
        """Messages a minute. FCM counts all projects of ours that share a Firebase project."""
        return min([self.quota_per_minute, *(quota for quota, _ in self._twins)])

    @property
    def longest_ramp(self) -> int:
        return max([self.ramp_seconds, *(ramp for _, ramp in self._twins)])

    @cached_property
    def _twins(self) -> list[tuple[int, int]]:
        """Quota and ramp of our other projects that share the Firebase project."""
        if self._state.adding:  # not saved, so it sends nothing
            return []
        named = Project.objects.filter(firebase_project_id=self.firebase_project_id)
        same = [each for each in named.exclude(pk=self.pk) if each.endpoint == self.endpoint]
        return [(each.quota_per_minute, each.ramp_seconds) for each in same]

    @property
    def may_emulate(self) -> bool:
        """Whether there is an emulator to send to."""
        return bool(settings.FCM_ENDPOINT != settings.GOOGLE_FCM_ENDPOINT)

    @property
    def endpoint(self) -> str:
        return settings.FCM_ENDPOINT if self.uses_emulator else settings.GOOGLE_FCM_ENDPOINT

    @property
    def figures_endpoint(self) -> str:
        return settings.FCM_ENDPOINT if self.uses_emulator else settings.GOOGLE_FCM_DATA_ENDPOINT

    @property
    def ca_file(self) -> str | None:
        return settings.FCM_CA_FILE if self.uses_emulator else None


class OfProject(models.Model):
    """The base of rows that belong to one project. Through it, no other project's rows exist."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE)

    class Meta:
        abstract = True
