"""Call: one request to an endpoint, tried until it is accepted. Calls are also the log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q, QuerySet, Value
from django.utils.translation import gettext_lazy as _

from notifications.webhooks.endpoint import Endpoint

TRIED_FOR = timedelta(days=3)
LONGEST_ANSWER = 1_000  # characters of an answer that are kept
CONTACTS = "$[*].data.contact"  # in `events`: the external ids of the people they are about


class Call(models.Model):
    """A request to an endpoint: its events, how often we tried, and the last answer.

    Its name is the webhook-id: the same at each try, so that a receiver knows what it has.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        ACCEPTED = "accepted", _("Accepted")
        FAILED = "failed", _("Failed")

    class Error(models.TextChoices):
        """Why there was no answer."""

        TIMEOUT = "timeout", _("No answer in time")
        UNREACHABLE = "unreachable", _("Could not be connected to")
        NO_NAME = "no_name", _("Its name was not found")
        TLS = "tls", _("No trusted TLS connection")
        BROKEN = "broken", _("The connection broke")
        FORBIDDEN = "forbidden", _("Its address is not a public one")
        NO_KEY = "no_key", _("Its secret could not be opened")
        NO_EMAIL = "no_email", _("E-mail is not set up")
        REFUSED = "refused", _("The mail server refused it")

    # No constraint: rows of a deleted endpoint are removed later, a part at a time.
    endpoint = models.ForeignKey(
        Endpoint,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="calls",
    )
    name = models.CharField(max_length=60, unique=True)
    events = models.JSONField()  # [{"id", "type", "timestamp", "data"}, …]
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    is_test = models.BooleanField(default=False)  # sent to a disabled endpoint, too
    made_at = models.DateTimeField()
    # When it is due; while it is under way, when another process may take it over.
    next_at = models.DateTimeField()
    gives_up_at = models.DateTimeField()
    tries = models.PositiveIntegerField(default=0)  # also the fence: an older try writes nothing

    tried_at = models.DateTimeField(null=True)
    took_ms = models.PositiveIntegerField(null=True)
    status = models.PositiveIntegerField(null=True)  # HTTP's
    answer = models.TextField(blank=True)
    error = models.CharField(max_length=11, choices=Error, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["endpoint", "next_at"], condition=Q(state="waiting"), name="waiting_calls"
            ),
            models.Index(fields=["endpoint", "-id"], name="calls_of_endpoint"),
            models.Index(
                fields=["endpoint", "-id"], condition=Q(state="failed"), name="failed_calls"
            ),
            # Finds calls by the people they are about: see person_data.py.
            GinIndex(
                Func(F("events"), Value(CONTACTS), function="jsonb_path_query_array"),
                name="calls_about_people",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> str:
        """The type of its event; for a batch, of the first one."""
        return str(self.events[0]["type"])


def make_call(
    endpoint: Endpoint, name: str, events: list[dict[str, Any]], *, now: datetime
) -> Call:
    return Call(
        endpoint=endpoint,
        name=name,
        events=events,
        made_at=now,
        next_at=now,
        gives_up_at=now + TRIED_FOR,
    )


def again(calls: QuerySet[Call], *, now: datetime) -> int:
    """Send ended calls once more, by their old names. Returns how many.

    Waiting calls are sent anyway.
    """
    ended = calls.exclude(state=Call.State.WAITING)
    return ended.update(state=Call.State.WAITING, next_at=now, gives_up_at=now + TRIED_FOR)


def failed(endpoint: Endpoint) -> QuerySet[Call]:
    return Call.objects.filter(endpoint=endpoint, state=Call.State.FAILED)


def first_waiting(endpoint: Endpoint) -> Call | None:
    """The call with which an endpoint that accepts nothing is tried."""
    waiting = Call.objects.filter(endpoint=endpoint, state=Call.State.WAITING, is_test=False)
    return waiting.order_by("next_at", "pk").first()
