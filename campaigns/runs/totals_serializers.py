"""What the API shows of any run: its totals, and why it is paused."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from campaigns.runs.reasons import Cause
from campaigns.runs.sums import Totals


class TotalsSerializer(serializers.Serializer[Totals]):
    """planned = accepted + rejected + skipped + unknown + waiting, always."""

    planned = serializers.IntegerField()
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()
    waiting = serializers.IntegerField()


class CauseSerializer(serializers.Serializer[Any]):
    """Why a run waits for a person."""

    code = serializers.ChoiceField(choices=Cause.choices)
    text = serializers.CharField()
