"""Audiences: saved rules or static lists, how many they select, and why somebody is in or out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.audiences import reach, rules, why
from campaigns.audiences.api.lists import CALLED
from campaigns.audiences.api.trees import ExplainedField, RulesField
from campaigns.audiences.audience import Audience, Member, validate_rules
from campaigns.launch_check import warnings
from campaigns.planning.api.check import WarningSerializer
from notifications.api.base import pages, query
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient, slow
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.api.person_in_query import ExternalId, contact_named, nobody
from notifications.people.contact import Contact
from notifications.people.locking import lock_people_against_erasure
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.requests import origin
from notifications.staff import audit

MAX_LISTED = 10_000
EXPLAINING_SECONDS = 2.0
EXAMPLE = OpenApiExample(
    "Gold and Pro",
    {
        "name": "Gold and Pro",
        "rules": {
            "all": [
                {"field": "attributes.plan", "op": "in", "value": ["gold", "pro"]},
                {"field": "platform", "op": "eq", "value": "ios"},
            ]
        },
    },
    request_only=True,
)


class BrokenSerializer(serializers.Serializer[Any]):
    """Stored rules that no longer work. Replace them with a PUT."""

    rules = serializers.JSONField(help_text="As they are stored.")
    problems = serializers.ListField(child=serializers.CharField())


class AudienceSerializer(StrictSerializer):
    """Rules, or the external ids of the people on a static list."""

    may_lack = frozenset({"rules", "broken"})

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(choices=Audience.Kind.choices, read_only=True)
    rules = RulesField(required=False)
    contacts = CountedList(
        child=ExternalId(max_length=200),
        required=False,
        write_only=True,
        max_length=MAX_LISTED,
        help_text="External ids. Creates a static list of these people.",
    )
    broken = BrokenSerializer(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)

    def to_representation(self, audience: Audience) -> dict[str, Any]:
        return {
            "id": audience.pk,
            "name": audience.name,
            "kind": audience.kind,
            **_rules_of(audience),
            "created_at": audience.created_at,
            "updated_at": audience.updated_at,
        }


def _rules_of(audience: Audience) -> dict[str, Any]:
    if audience.kind != Audience.Kind.RULES:
        return {}
    if problems := rules.problems(audience.rules)[: rules.PROBLEMS_SAID]:
        return {"broken": {"rules": audience.rules, "problems": [*map(str, problems)]}}
    return {"rules": audience.rules}


class QuestionSerializer(StrictSerializer):
    """Rules that are not saved."""

    rules = RulesField()


class MarginSerializer(serializers.Serializer[Any]):
    """How far an estimate may be off: the true numbers lie within it 95 times in 100."""

    contacts = serializers.IntegerField()
    devices = serializers.IntegerField()


class EstimateSerializer(serializers.Serializer[Any]):
    """How many the rules select."""

    contacts = serializers.IntegerField()
    devices = serializers.IntegerField()
    exact = serializers.BooleanField(help_text="False: counted on a sample, to answer in time.")
    margin = MarginSerializer(
        allow_null=True, help_text="± of an estimate. null: counted exactly, or not known."
    )
    took_ms = serializers.IntegerField()
    warnings = WarningSerializer(
        many=True, help_text="`events_removed`: a rule without `within` does not see old events."
    )


class ExplanationSerializer(serializers.Serializer[Any]):
    """Why a person is in or out."""

    contact = serializers.CharField()
    selected = serializers.BooleanField(help_text="Whether a launch now would select them.")
    devices = serializers.IntegerField(help_text="How many of their devices are selected.")
    rules = ExplainedField()


class Audiences(ApiView):
    place = ("api-audience", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(operation_id="audiences_list", responses=pages.schema_of(AudienceSerializer))
    def get(self, request: Request) -> Response:
        """Every audience, newest first."""
        mine = Audience.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, AudienceSerializer().to_representation)

    @extend_schema(
        request=AudienceSerializer, responses={201: AudienceSerializer}, examples=[EXAMPLE]
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Save rules, or a static list of people, under a name."""
        values = self.given(AudienceSerializer)
        if "rules" in values and "contacts" in values:
            raise serializers.ValidationError("Give either rules or contacts, not both.")
        listed = "contacts" in values
        kind = Audience.Kind.LIST if listed else Audience.Kind.RULES
        audience = _write(Audience(project=self.project, kind=kind), values)
        return Response(AudienceSerializer(audience).data, status=201)


class AudienceById(WritableRowView[Audience]):
    model, serializer_class = Audience, AudienceSerializer
    words = {
        "get": "One audience. For a static list only its name: its people are not listed.",
        "put": "Replace its name and rules, or the people on the list. Launched runs keep theirs.",
        "patch": "Change the given fields. Fields you leave out keep their value; rules, and the "
        "people on a list, are replaced as a whole.",
        "delete": "Delete an audience that nothing uses.",
    }

    def write(self, row: Audience, given: dict[str, Any]) -> Audience:
        return _write(row, given)


def _write(audience: Audience, values: dict[str, Any]) -> Audience:
    audience.name = values["name"]
    with transaction.atomic():
        if audience.kind == Audience.Kind.LIST:
            _refuse(values, "rules", "This audience is a static list; give contacts.")
            save(audience, called=CALLED)
            if "contacts" in values:
                _write_members(audience, values["contacts"])
        else:
            _refuse(values, "contacts", "This audience has rules; create a new one for a list.")
            if "rules" not in values:
                raise serializers.ValidationError({"rules": "Give rules, or contacts for a list."})
            audience.rules = values["rules"]
            save(audience, called=CALLED)
    return audience


def _refuse(values: dict[str, Any], name: str, message: str) -> None:
    if name in values:
        raise serializers.ValidationError({name: message})


def _write_members(audience: Audience, external_ids: list[str]) -> None:
    people = Contact.objects.filter(project=audience.project_id, external_id__in=external_ids)
    pks = dict(people.values_list("external_id", "pk"))
    locked = lock_people_against_erasure(
        [*pks.values(), *audience.members.values_list("contact", flat=True)]
    )
    ids = {external_id: pk for external_id, pk in pks.items() if pk in locked}
    if unknown := [external_id for external_id in external_ids if external_id not in ids]:
        names = ", ".join(unknown[:20])
        raise serializers.ValidationError(
            {"contacts": f"{len(unknown):,} of these people are not in this project: {names}"}
        )
    before, now = {*audience.members.values_list("contact", flat=True)}, {*ids.values()}
    if before == now:
        return
    _record_members(audience, before, now)
    audience.save(update_fields=["updated_at"])  # its people are a part of it
    audience.members.all().delete()
    Member.objects.bulk_create(Member(audience=audience, contact_id=pk) for pk in ids.values())


def _record_members(audience: Audience, before: set[int], now: set[int]) -> None:
    counts: dict[str, Any] = {"added": len(now - before), "removed": len(before - now)}
    by, project = origin.program(), audience.project
    audit.record(by, "changed members", audience, project=project, **counts)


class AudienceEstimate(ApiView):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(request=QuestionSerializer, responses=EstimateSerializer)
    @slow
    def post(self, request: Request) -> Response:
        """How many people and devices these rules select now."""
        tree = self.given(QuestionSerializer)["rules"]
        validate_rules(tree, project_id=self.project.pk)
        began = time.monotonic()
        with _in_time():
            counted = reach.quick(self.project.pk, tree)
        doubted = warnings.of_removed_events(self.project.pk, tree)
        return Response(
            {
                "contacts": counted.people,
                "devices": counted.devices,
                "exact": counted.exact,
                "margin": counted.margin
                and {"contacts": counted.margin.people, "devices": counted.margin.devices},
                "took_ms": round((time.monotonic() - began) * 1000),
                "warnings": [{"code": one.code, "message": one.words} for one in doubted],
            }
        )


@contextmanager
def _in_time() -> Iterator[None]:
    """Raises Problem when PostgreSQL was stopped."""
    try:
        yield
    except (TooSlow, reach.Uncountable) as error:
        words = (
            "This takes too long with these rules. Use fewer of them, or shorter lists of values."
        )
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, words, kind="too-slow", errors={"rules": words}
        ) from error


class AudienceExplain(ApiView):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @takes(query.contact(required=True))
    @extend_schema(responses=ExplanationSerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """Why a person is in or out: each rule with whether it holds, and the value seen."""
        tree = self.find(Audience, pk).effective_rules
        contact = contact_named(self, request.query_params.get("contact"))
        try:
            with _in_time(), statement_timeout(seconds=EXPLAINING_SECONDS):
                explained = why.explain(contact, tree)
                devices = why.selected_devices(contact, tree)
        except Contact.DoesNotExist as error:  # erased since they were found
            raise nobody() from error
        return Response(
            {
                "contact": contact.external_id,
                "selected": explained["holds"],
                "devices": sum(judged.selected for judged in devices),
                "rules": explained,
            }
        )
