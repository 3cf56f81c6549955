"""The endpoint that explains why a person got a run, or did not."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.audiences.api.trees import ExplainedField
from campaigns.engagement.receipt import Event
from campaigns.results.why.current_state import Fate, Now, Seen
from campaigns.results.why.rows import Row
from campaigns.results.why.sentence import sentence
from campaigns.results.why.why import Cause, Ending, Why, why
from campaigns.results.why.words import not_known
from campaigns.runs.best_hour import DAYS
from campaigns.runs.messages.message import id_of
from campaigns.runs.messages.outcome import DEVICE_STATUSES, WAITING
from campaigns.runs.reasons import in_words
from campaigns.runs.run import Run
from campaigns.runs.variants import group
from notifications.api.base import query
from notifications.api.base.patience import slow
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.api.person_in_query import contact_named, nobody
from notifications.gateway import Verdict
from notifications.people.consent import eligibility
from notifications.people.contact import Contact

# --- Serializers ----------------------------------------------------------------------------------

EVENTS = [event.name.lower() for event in Event]


class WindowSerializer(serializers.Serializer[Any]):
    """A request to this device was about to leave."""

    opened_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)
    lost = serializers.BooleanField(help_text="Its worker died: the request may have left.")
    revision = serializers.IntegerField(help_text="Of the run's text: what it says.")


class AnswerSerializer(serializers.Serializer[Any]):
    """An answer that was not an acceptance. The first 20 of a device are kept."""

    at = serializers.DateTimeField()
    http = serializers.IntegerField(help_text="Its status; 0: no answer came.")
    code = serializers.CharField(help_text="FCM's name for it.")
    verdict = serializers.ChoiceField(choices=[(one.value, one.name) for one in Verdict])
    reason = serializers.CharField()
    may_have_arrived = serializers.BooleanField()
    detail = serializers.CharField()


class ReceiptSerializer(serializers.Serializer[Any]):
    """What the phone told."""

    event = serializers.ChoiceField(choices=EVENTS)
    at = serializers.DateTimeField(help_text="By our clock.")
    phone_at = serializers.DateTimeField(allow_null=True, help_text="By the phone's.")


class RetrySerializer(serializers.Serializer[Any]):
    """The next try."""

    tries = serializers.IntegerField(help_text="How many there were.")
    not_before = serializers.DateTimeField()
    reason = serializers.CharField()


class BestHourSerializer(serializers.Serializer[Any]):
    """The hour of the person's day in which they opened most messages, when the run was frozen."""

    hour = serializers.IntegerField(help_text="0 to 23, by their own clock.")
    opened = serializers.IntegerField(help_text="How many messages they had opened in it.")
    of = serializers.IntegerField(help_text=f"Of so many in the last {DAYS} days.")


class RecipientSerializer(serializers.Serializer[Any]):
    """One device of the person in the run, and what came of it."""

    seq = serializers.IntegerField(help_text="The recipient's number in the run.")
    platform = serializers.CharField(help_text="As it was then.")
    message = serializers.CharField(allow_null=True, help_text="Its id, in a run of messages.")
    variant = serializers.CharField(
        help_text="`A` to `E`, `control` or `holdout`; empty where the run was not split."
    )
    best_hour = BestHourSerializer(
        allow_null=True, help_text="null: they had none, or the run does not go by it."
    )
    status = serializers.ChoiceField(choices=DEVICE_STATUSES)
    reason = serializers.CharField(help_text="A code; empty if accepted.")
    reason_text = serializers.CharField()
    detail = serializers.CharField()
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    resent = serializers.BooleanField(help_text="The phone may have received it twice.")
    at = serializers.DateTimeField(allow_null=True)
    windows = WindowSerializer(many=True, help_text="The first 20.")
    answers = AnswerSerializer(many=True)
    receipts = ReceiptSerializer(many=True)
    retry = RetrySerializer(allow_null=True)


class SeenSerializer(serializers.Serializer[Any]):
    """A device the person has now."""

    platform = serializers.CharField()
    registered_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    retired_at = serializers.DateTimeField(allow_null=True)
    kept_out = serializers.ChoiceField(
        choices=[(fate.value, fate.name) for fate in Fate],
        help_text="Why it could not be in the snapshot: `retired` or `unseen` before it, for "
        "certain; `later`: registered after it, or again; `free`: nothing of it.",
    )
    selected = serializers.BooleanField(
        allow_null=True, help_text="Whether the rules select it now; null: they were not asked."
    )


class ConsentSerializer(serializers.Serializer[Any]):
    """Whether they may be sent such a message now."""

    reason = serializers.CharField(
        help_text=f"{' or '.join(eligibility.REASONS)}; empty: they may."
    )
    changed_at = serializers.DateTimeField(allow_null=True)


class NowSerializer(serializers.Serializer[Any]):
    """As of now. It may have been otherwise when the run was frozen."""

    at = serializers.DateTimeField()
    selected = serializers.BooleanField(
        allow_null=True, help_text="Whether the run's rules hold; null: they cannot be asked."
    )
    rules = ExplainedField(allow_null=True)
    problem = serializers.CharField(help_text="Why the rules cannot be asked.")
    created_at = serializers.DateTimeField(help_text="When the person was registered.")
    updated_at = serializers.DateTimeField(help_text="When the person was last written.")
    consent = ConsentSerializer()
    devices = SeenSerializer(many=True)


class WhySerializer(serializers.Serializer[Any]):
    """Why a person got a run, or did not."""

    run = serializers.IntegerField()
    contact = serializers.CharField()
    answer = serializers.CharField(help_text="One sentence.")
    ending = serializers.ChoiceField(choices=[(one.value, one.name) for one in Ending])
    cause = serializers.CharField(
        allow_null=True,
        help_text="What kept the person out of the snapshot, as far as it can be told: "
        f"{', '.join(Cause)}.",
    )
    in_snapshot = serializers.BooleanField(
        allow_null=True, help_text="null: nobody can know it, or not yet."
    )
    frozen_from = serializers.DateTimeField(allow_null=True)
    frozen_at = serializers.DateTimeField(
        allow_null=True, help_text="When the last recipient was chosen."
    )
    recipients = RecipientSerializer(many=True)
    now = NowSerializer()
    not_known = serializers.ListField(
        child=serializers.CharField(), help_text="What cannot be known any more."
    )


def why_json(why: Why) -> dict[str, Any]:
    return {
        "run": why.run.pk,
        "contact": why.contact.external_id,
        "answer": sentence(why),
        "ending": why.ending,
        "cause": why.cause,
        "in_snapshot": why.is_in,
        "frozen_from": why.run.started_at,
        "frozen_at": why.frozen_at,
        "recipients": [_recipient(row) for row in why.rows],
        "now": _now_json(why, why.now),
        "not_known": not_known(why),
    }


def _recipient(row: Row) -> dict[str, Any]:
    sent = row.sent
    fields = ("seq", "reason", "detail", "message_id", "resent", "at")
    return {
        **{name: getattr(sent, name) for name in fields},
        "platform": row.platform,
        "message": id_of(sent.run_id, row.message) if row.message else None,
        "variant": group.name_of(row.variant),
        "best_hour": _pick_fields(row.best, BestHourSerializer) if row.best else None,
        "status": sent.status or WAITING,
        "reason_text": in_words(sent.reason),
        "windows": [_pick_fields(window, WindowSerializer) for window in row.windows],
        "answers": [_pick_fields(answer, AnswerSerializer) for answer in row.answers],
        "receipts": [
            {
                "event": Event(receipt.event).name.lower(),
                "at": receipt.at,
                "phone_at": receipt.phone_at,
            }
            for receipt in row.receipts
        ],
        "retry": _pick_fields(row.retry, RetrySerializer)
        if row.retry and not sent.status
        else None,
    }


def _pick_fields(row: Any, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in shape().get_fields()}


def _now_json(why: Why, now: Now) -> dict[str, Any]:
    return {
        "at": now.at,
        "selected": now.ruled.is_in if now.ruled else None,
        "rules": now.ruled.rules if now.ruled else None,
        "problem": now.problem,
        "created_at": why.contact.created_at,
        "updated_at": why.contact.updated_at,
        "consent": _pick_fields(now.consent, ConsentSerializer),
        "devices": [_device_json(seen) for seen in now.devices],
    }


def _device_json(device: Seen) -> dict[str, Any]:
    fields = ("platform", "registered_at", "last_seen_at", "retired_at")
    of_device = {name: getattr(device.device, name) for name in fields}
    return {**of_device, "kept_out": device.fate, "selected": device.selected}


# --- The endpoint ---------------------------------------------------------------------------------


class RunWhy(ApiView):
    @takes(query.contact(required=True))
    @extend_schema(responses=WhySerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """Why a person got this run, or did not. `answer` says it in one sentence; `recipients` is
        certain, `now` is as of now. The number before the hyphen of a message's id is a run, too:
        all messages of that day to the person are in it."""
        run = self._run(pk)
        contact = contact_named(self, request.query_params.get("contact"))
        try:
            explanation = why(run, contact, now=timezone.now())
        except Contact.DoesNotExist as error:  # erased since they were found
            raise nobody() from error
        return Response(why_json(explanation))

    def _run(self, pk: int) -> Run:
        """Of every kind: `find` knows those of campaigns alone."""
        run = Run.every.filter(project=self.project, pk=pk).select_related("project").first()
        if run is None:
            raise NotFound(f"There is no run {pk} in this project.")
        return run
