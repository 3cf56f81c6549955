"""A rehearsal as a program reads it: what was found, what it foretells, and what came later."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from campaigns.api.runs import CauseSerializer, TotalsSerializer
from campaigns.results.next_step import NEXT_STEP
from campaigns.results.rehearsed.compared import Compared, real_run_of
from campaigns.results.rehearsed.foretold import Foretold
from campaigns.results.rehearsed.told import OfVariant, Told
from campaigns.runs import sums
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import cause_in_words
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.runs.variants.group import name_of


class ForetoldSerializer(serializers.Serializer[Any]):
    """What a launch would come to. Of everybody rehearsed, `low` and `high` are 1 % around it; of a
    sample, they are its 95 % Wilson interval."""

    name = serializers.CharField(help_text="planned, accepted, rejected, skipped or unknown.")
    found = serializers.IntegerField(help_text="Of the devices that were rehearsed.")
    count = serializers.IntegerField(help_text="Of all devices.")
    low = serializers.IntegerField()
    high = serializers.IntegerField()


class ComparedLineSerializer(ForetoldSerializer):
    real = serializers.IntegerField(help_text="In the run.")
    holds = serializers.BooleanField(help_text="Whether it lies between `low` and `high`.")


class ComparedSerializer(serializers.Serializer[Any]):
    """The first run of the campaign that began afterwards."""

    run = serializers.IntegerField()
    finished = serializers.BooleanField(help_text="Before that, nothing can be said.")
    holds = serializers.BooleanField()
    same_text = serializers.BooleanField()
    same_rules = serializers.BooleanField()
    left_out = serializers.IntegerField(
        help_text="Devices that the run left out by chance, for comparison. They are in `planned` "
        "alone; the other lines are reckoned down to the rest, with wider bounds."
    )
    lines = ComparedLineSerializer(many=True)


class DeadSerializer(serializers.Serializer[Any]):
    """Addresses that FCM called dead."""

    count = serializers.IntegerField()
    asked = serializers.IntegerField(help_text="Of how many.")
    low = serializers.FloatField(help_text="At least this share of all is dead, from 0 to 1.")
    high = serializers.FloatField(help_text="At most this share of all.")
    retired = serializers.IntegerField(help_text="Devices retired for it, if that was asked for.")


class FieldErrorSerializer(serializers.Serializer[Any]):
    """So many messages with the same mistake."""

    field = serializers.CharField(help_text="Empty: of no single field.")
    reason = serializers.CharField()
    count = serializers.IntegerField()
    example = serializers.CharField(help_text="What was said of one of them.")


class OfVariantSerializer(serializers.Serializer[Any]):
    """Those who were rehearsed with one of the texts, by chance as a run draws them."""

    variant = serializers.CharField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()


class RehearsalSummarySerializer(serializers.Serializer[Any]):
    """A rehearsal, as in lists."""

    id = serializers.IntegerField()
    campaign = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Run.State.choices)
    sample = serializers.IntegerField(allow_null=True, help_text="null: everybody.")
    retire_dead = serializers.BooleanField()
    totals = TotalsSerializer()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class RehearsalSerializer(RehearsalSummarySerializer):
    """A rehearsal, and what it found so far."""

    seed = serializers.IntegerField(help_text="The same seed draws the same devices.")
    devices = serializers.IntegerField(help_text="Of a launch: those that were drawn from.")
    cause = CauseSerializer(allow_null=True, help_text="Why it waits for a person.")
    reasons = serializers.DictField(child=serializers.IntegerField())
    foretold = ForetoldSerializer(many=True, help_text="Empty until it has finished.")
    dead = DeadSerializer()
    errors = FieldErrorSerializer(  # type: ignore[assignment]  # the metaclass takes it
        many=True, allow_null=True, help_text="The most frequent first."
    )
    variants = OfVariantSerializer(
        many=True, help_text="Empty where there is one text, and once recipients were removed."
    )
    rate_per_second = serializers.FloatField(help_text="Messages per second, measured.")
    seconds_for_everybody = serializers.FloatField(allow_null=True)
    requests = serializers.IntegerField(help_text="That FCM may have counted as quota.")
    quota_per_minute = serializers.IntegerField()
    compared = ComparedSerializer(allow_null=True)


def summary(rehearsal: Rehearsal) -> dict[str, Any]:
    run = rehearsal.run
    return {
        "id": rehearsal.pk,
        "campaign": run.campaign_id,
        "state": run.state,
        "sample": rehearsal.sample,
        "retire_dead": rehearsal.retires,
        "totals": sums.totals_of(run).as_dict(),
        "started_at": run.started_at,
        "finished_at": run.finished_at,
    }


def whole(rehearsal: Rehearsal) -> dict[str, Any]:
    run, told = rehearsal.run, Told(rehearsal, timezone.now())
    return {
        **summary(rehearsal),
        "seed": rehearsal.seed,
        "devices": rehearsal.stands_for,
        "cause": _cause(run),
        "reasons": told.progress.reasons,
        "foretold": [_foretold(one) for one in (told.planned, *told.ends)] if told.over else [],
        "dead": _dead(told),
        "errors": _errors(told),
        "variants": [_of_variant(one) for one in told.variants],
        "rate_per_second": round(told.rate, 1),
        "seconds_for_everybody": told.seconds_for_all,
        "requests": told.requests,
        "quota_per_minute": run.project.quota_per_minute,
        "compared": _compared(real_run_of(rehearsal)),
    }


def _cause(run: Run) -> dict[str, Any] | None:
    if run.state != Run.State.PAUSED:
        return None
    said = (cause_in_words(run.cause), str(NEXT_STEP.get(run.cause, "")), run.detail)
    return {"code": run.cause, "text": " ".join(filter(None, said))}


def _foretold(one: Foretold) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("name", "found", "count", "low", "high")}


def _dead(told: Told) -> dict[str, Any]:
    interval = told.dead_share
    exact = not told.rehearsal.is_sample and told.totals.sent
    share = told.dead / told.totals.sent if exact else None
    return {
        "count": told.dead,
        "asked": told.totals.sent,
        "low": round(interval.low if share is None else share, 4),
        "high": round(interval.high if share is None else share, 4),
        "retired": told.retired,
    }


def _of_variant(one: OfVariant) -> dict[str, Any]:
    counts = {status: one.counts[status] for status in Delivery.Status.values}
    return {"variant": name_of(one.number), **counts}


def _errors(told: Told) -> list[dict[str, Any]] | None:
    if told.errors is None:
        return None
    names = ("field", "reason", "count", "example")
    return [{name: getattr(one, name) for name in names} for one in told.errors]


def _compared(found: Compared | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "run": found.run.pk,
        "finished": found.has_ended,
        "holds": found.has_ended and found.holds,
        "same_text": found.same_text,
        "same_rules": found.same_rules,
        "left_out": found.left_out,
        "lines": [
            {**_foretold(line.foretold), "real": line.real, "holds": line.holds}
            for line in found.lines
        ],
    }
