"""FcmDay: FCM's delivery figures for one day's Android messages with one label.

FCM publishes them days later.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from notifications.people.project import OfProject, Project

# FCM's names. These three and the DROPPED ones are shares of the accepted messages, and exclude
# each other.
DELIVERED, PENDING, COLLAPSED = "delivered", "pending", "collapsed"
DROPPED = {
    "droppedTtlExpired": _("its time to live was over"),
    "droppedDeviceInactive": _("the device was inactive for over a month"),
    "droppedAppForceStopped": _("the app was stopped by force"),
    "droppedTooManyPendingMessages": _("too many messages waited for the device"),
}
DELAYED = {
    "delayedDeviceOffline": _("the device was offline"),
    "delayedDeviceDoze": _("the device dozed"),
    "delayedMessageThrottled": _("FCM throttled them"),
    "delayedUserStopped": _("the device's user was stopped"),
}
OTHERS = ("deliveredNoDelay", "priorityLowered")
PERCENTS = (DELIVERED, PENDING, COLLAPSED, *DROPPED, *DELAYED, *OTHERS)
KEPT = timedelta(days=400)


class FcmDay(OfProject):
    """FCM's figures for one app, day and label."""

    app_id = models.CharField(max_length=100)
    day = models.DateField()  # in America/Los_Angeles
    label = models.CharField(max_length=50, blank=True)  # empty: all messages without a label
    accepted = models.BigIntegerField()
    percents = models.JSONField()  # by FCM's names; a missing one is unknown

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "app_id", "day", "label"], name="one_figure_of_a_day"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.label}"

    @property
    def arrived(self) -> str:
        return self._share(DELIVERED)

    @property
    def waiting(self) -> str:
        return self._share(PENDING)

    @property
    def replaced(self) -> str:
        return self._share(COLLAPSED)

    @property
    def dropped(self) -> str:
        return self._share(*DROPPED)

    @property
    def why_dropped(self) -> str:
        return self._list_shares(DROPPED)

    @property
    def late(self) -> str:
        """The share of delivered messages that were late; one may be late for several causes."""
        return self._share(*DELAYED)

    @property
    def why_late(self) -> str:
        return self._list_shares(DELAYED)

    def _share(self, *names: str) -> str:
        percents = [self.percents[name] for name in names if name in self.percents]
        return f"{sum(percents):.2f}".rstrip("0").rstrip(".") + " %" if percents else "–"

    def _list_shares(self, names: Mapping[str, object]) -> str:
        available = [name for name in names if name in self.percents]
        return " · ".join(f"{names[name]}: {self._share(name)}" for name in available)


class Trouble(models.TextChoices):
    """Why FCM gave no figures. `words.py` has the text for each."""

    KEY = "key"
    OFF = "off"
    SCOPE = "scope"
    ROLE = "role"
    TOKEN = "token"
    APP = "app"
    BUSY = "busy"
    UNREACHABLE = "unreachable"
    UNREADABLE = "unreadable"


class Asking(models.Model):
    """The last request for a project's figures and its result."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="asking")
    next_at = models.DateTimeField(db_index=True)
    asked_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)  # the last successful answer
    trouble = models.CharField(max_length=11, choices=Trouble, blank=True)  # of the last request
    said = models.CharField(max_length=300, blank=True)  # Google's own error text

    def __str__(self) -> str:
        return f"figures of project {self.project_id}"
