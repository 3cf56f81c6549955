"""Rules as the schema describes them: a tree that a program can build. They are judged, and
refused, by campaigns/audiences/rules.py."""

from __future__ import annotations

from typing import Any

from drf_spectacular.helpers import lazy_serializer
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.rules import FIELDS, MANY, OPERATORS
from notifications.api.base.fields import JsonObject

FIELD = f"attributes.<name>, {', '.join([*FIELDS, *KINDS])}."
LISTS = ", ".join(op for op in OPERATORS if op in MANY)
VALUE = f"A list for {LISTS}; none for exists and not_exists."


class Rules(serializers.Serializer[Any]):
    """One of `all`, `any` and `not`, or a `field` with an `op` and its `value`.

    The empty `all` means everyone. At most 100 rules; with the groups and nots around them, 500;
    6 levels; 1,000 values a rule.
    """

    itself = "campaigns.audiences.api.trees.Rules"
    may_lack = frozenset({"all", "any", "not", "field", "op", "value", "seen"})

    def get_fields(self) -> dict[str, Any]:
        inner: Any = lazy_serializer(self.itself)
        return {
            "all": inner(many=True, required=False),
            "any": inner(many=True, required=False),
            "not": inner(required=False),
            "field": serializers.CharField(required=False, help_text=FIELD),
            "op": serializers.ChoiceField(choices=OPERATORS, required=False),
            "value": serializers.JSONField(required=False, help_text=VALUE),
        }


class ExplainedRules(Rules):
    """The same tree; each node says whether it matches the person."""

    itself = "campaigns.audiences.api.trees.ExplainedRules"

    def get_fields(self) -> dict[str, Any]:
        return {
            **super().get_fields(),
            "holds": serializers.BooleanField(),
            "seen": serializers.JSONField(
                required=False, help_text="For a single rule: the person's value."
            ),
        }


@extend_schema_field(Rules)
class RulesField(JsonObject):
    """A tree of rules."""


@extend_schema_field(ExplainedRules)
class ExplainedField(JsonObject):
    """A tree of rules with the result of each."""
