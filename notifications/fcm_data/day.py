"""FcmDay: what FCM says became of a day's Android messages of one label. It is told days later."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from notifications.people.project import OfProject, Project

# As FCM names them. The first are shares of what it accepted, and exclude one another.
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
    """What does FCM say of this day and label?"""

    app_id = models.CharField(max_length=100)
    day = models.DateField()  # in America/Los_Angeles
    label = models.CharField(max_length=50, blank=True)  # empty: of all without one
    accepted = models.BigIntegerField()
    percents = models.JSONField()  # by FCM's names; what it leaves out is not known

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
        return self._each(DROPPED)

    @property
    def late(self) -> str:
        """Of those that arrived; one may be late for several causes."""
        return self._share(*DELAYED)

    @property
    def why_late(self) -> str:
        return self._each(DELAYED)

    def _share(self, *names: str) -> str:
        told = [self.percents[name] for name in names if name in self.percents]
        return f"{sum(told):.2f}".rstrip("0").rstrip(".") + " %" if told else "–"

    def _each(self, names: Mapping[str, object]) -> str:
        told = [name for name in names if name in self.percents]
        return " · ".join(f"{names[name]}: {self._share(name)}" for name in told)


class Trouble(models.TextChoices):
    """Why were there no figures? In words: `words.py`."""

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
    """When was FCM asked for a project's figures, and what came of it?"""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, related_name="asking")
    next_at = models.DateTimeField(db_index=True)
    asked_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True)  # the last time that it answered
    trouble = models.CharField(max_length=11, choices=Trouble, blank=True)  # of the last time
    said = models.CharField(max_length=300, blank=True)  # by Google, as it stands

    def __str__(self) -> str:
        return f"figures of project {self.project_id}"
