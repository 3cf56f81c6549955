"""How many opens are expected when, for programs: before a launch, and of a run."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from campaigns.forecast.opens import Opens


class OpensSerializer(serializers.Serializer[Opens]):
    """How many open it when, if they open as many and as soon as in the project's last runs."""

    expected = serializers.IntegerField(help_text="Of all phones, sooner or later.")
    told = serializers.IntegerField(help_text="As many of them as phones will report.")
    share = serializers.FloatField(help_text="Of `sent`, from 0 to 1.")
    runs = serializers.ListField(
        child=serializers.IntegerField(), help_text="From which that was learned."
    )
    half_after_seconds = serializers.FloatField(
        source="half_after",
        allow_null=True,
        help_text="Half of those who open it do so within this time of getting it. null, as the "
        "next two: their recipients are no longer kept, or it took too long to ask them.",
    )
    most_per_second = serializers.FloatField(
        allow_null=True, help_text="In the fullest of the steps in which the messages leave."
    )
    counts = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Opens in each step from the start on; what is left of `expected` comes later.",
    )
    step_seconds = serializers.IntegerField(
        source="step", help_text="Those of the messages, or longer ones."
    )


def opens_json(opens: Opens | None) -> dict[str, Any] | None:
    return dict(OpensSerializer(opens).data) if opens else None
