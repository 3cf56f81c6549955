"""Message categories, and the suppression list."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.validators import BaseValidator
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base import pages, query
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.patience import patient, slow
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.query import takes
from notifications.api.base.row import WritableRowView
from notifications.api.base.view import ApiView, save
from notifications.api.person_in_query import ExternalId
from notifications.people.consent import eligibility
from notifications.people.consent.category import CAPS, Category
from notifications.people.consent.suppression import Suppression, suppress, unsuppress
from notifications.people.project import GAP_MINUTES, PER_DAY, PER_WEEK
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.staff import audit
from notifications.staff.subjects import Subject

SUPPRESSED_AT_ONCE = 1_000
LOOKING_SECONDS = 3.0
TOO_FEW = "Too few fit to be found in time. Give more of how their id starts."
EVERY_SUPPRESSION = Subject("suppression")
KINDS = (
    "marketing: goes to people who are subscribed and have not declined it. transactional: goes "
    "to everybody, unsubscribed or not. critical: the same, and at any hour: quiet hours do not "
    "apply to it. Suppressed people get none of them."
)
OFFERS = OpenApiExample(
    "Offers", {"name": "Offers", "slug": "offers", "kind": "marketing"}, request_only=True
)
NEVER = OpenApiExample(
    "Two who complained", {"external_ids": ["ada", "u/7"], "reason": "complaint"}, request_only=True
)
ONE = {
    "id": 3,
    "name": "Offers",
    "slug": "offers",
    "kind": "marketing",
    "quiet_hours": "wait",
    "caps": "keep",
    "cap_per_day": 1,
    "cap_per_week": None,
    "cap_gap_minutes": None,
    "created_at": "2026-05-31T09:30:00Z",
}
MADE = OpenApiExample("A category", ONE, response_only=True)
LISTED = OpenApiExample("All there are", {"results": [ONE], "next": None}, response_only=True)
SUPPRESSED = OpenApiExample(
    "One was new", {"added": 1, "known": 1}, response_only=True, status_codes=["200"]
)
ONE_SUPPRESSED = {
    "external_id": "ada",
    "at": "2026-05-31T09:30:00Z",
    "reason": "complaint",
    "by": "key:car_ab12",
}
EVERYBODY = OpenApiExample(
    "Everybody", {"results": [ONE_SUPPRESSED], "next": None}, response_only=True
)


def _bounds_of(bounds: list[BaseValidator]) -> dict[str, Any]:
    """In the words of the API, not of a form."""
    lowest, highest = (bound.limit_value for bound in bounds)
    return {"min_value": lowest, "max_value": highest}


class CategorySerializer(StrictSerializer):
    """A kind of message that people can accept or decline."""

    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=100)
    slug = serializers.SlugField(
        max_length=50, help_text="The name used in `preferences`. It cannot be changed."
    )
    kind = serializers.ChoiceField(
        choices=Category.Kind.choices,
        required=False,
        help_text=KINDS,
        error_messages={"invalid_choice": f"Use {' or '.join(Category.Kind.values)}."},
    )
    quiet_hours = serializers.ChoiceField(
        choices=Category.QuietHours.choices,
        required=False,
        help_text="While the project's quiet hours are on where the person is. wait: until they "
        "end; what expires before is skipped. send: it leaves at any hour. What is critical does "
        "so whatever stands here.",
        error_messages={"invalid_choice": "Use wait or send."},
    )
    caps = serializers.ChoiceField(
        choices=Category.Caps.choices,
        required=False,
        help_text="Of the project's caps. keep: skips people who have had enough, and counts. "
        "exempt: reaches them, and counts. free: reaches them, and does not count. Only marketing "
        "skips anybody, and what is critical does not count, whatever stands here.",
        error_messages={"invalid_choice": "Use keep, exempt or free."},
    )
    cap_per_day = serializers.IntegerField(
        required=False,
        allow_null=True,
        **_bounds_of(PER_DAY),
        help_text="So many messages of this category a person gets in 24 hours, beside the "
        "project's caps: both hold. Only of a marketing category that skips people.",
    )
    cap_per_week = serializers.IntegerField(
        required=False, allow_null=True, **_bounds_of(PER_WEEK), help_text="The same in seven days."
    )
    cap_gap_minutes = serializers.IntegerField(
        required=False,
        allow_null=True,
        **_bounds_of(GAP_MINUTES),
        help_text="At least so many minutes between two messages of this category.",
    )
    confirm = serializers.ChoiceField(
        choices=Category.Kind.choices,
        required=False,
        write_only=True,
        help_text="The new kind again, where a marketing category becomes another: it then goes to "
        "those who are out of it, too.",
        error_messages={"invalid_choice": "Give the new kind again, as `kind` does."},
    )
    created_at = serializers.DateTimeField(read_only=True)


class Categories(ApiView):
    place = ("api-category", "id")

    @takes(*pages.PARAMETERS)
    @extend_schema(
        operation_id="categories_list",
        responses=pages.schema_of(CategorySerializer),
        examples=[LISTED],
    )
    def get(self, request: Request) -> Response:
        """Every category, newest first."""
        mine = Category.objects.filter(project=self.project)
        return pages.page_by_id(request, mine, CategorySerializer().to_representation)

    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(
        request=CategorySerializer, responses={201: CategorySerializer}, examples=[OFFERS, MADE]
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a category."""
        category = _write(Category(project=self.project), self.given(CategorySerializer))
        return Response(CategorySerializer(category).data, status=HTTPStatus.CREATED)


class CategoryById(WritableRowView[Category]):
    model, serializer_class = Category, CategorySerializer
    words = {
        "get": "One category.",
        "put": "Replace its name and kind. Runs already launched keep the old kind.",
        "patch": "Change the given fields. Fields you leave out keep their value.",
        "delete": "Delete a category that nothing uses. People's choices are kept, and apply "
        "again if a category with the same slug is created.",
    }

    def write(self, row: Category, given: dict[str, Any]) -> Category:
        return _write(row, given)


def _write(category: Category, fields: dict[str, Any]) -> Category:
    confirmed = fields.pop("confirm", None)
    otherwise: dict[str, Any] = {
        "kind": Category.Kind.MARKETING,
        "quiet_hours": Category.QuietHours.WAIT,
        "caps": Category.Caps.KEEP,
        **dict.fromkeys(CAPS),
    }
    for name, value in {**otherwise, **fields}.items():
        setattr(category, name, value)
    if category.widened and confirmed != category.kind:
        raise _unconfirmed_problem(category)
    save(category)
    return category


def _unconfirmed_problem(category: Category) -> Problem:
    out = eligibility.out_of_marketing(category)
    who = {None: "the people who are", 0: "whoever is", 1: "the 1 person who is"}
    people = who.get(out, f"the {out or 0:,} people who are")
    text = (
        f"As {category.kind}, this category goes to {people} out of it, too: declined it, or is not"
        f' subscribed. Give "confirm": "{category.kind}" if that is meant.'
    )
    return Problem(HTTPStatus.CONFLICT, text, kind="unconfirmed", errors={"confirm": text})


class SuppressSerializer(StrictSerializer):
    """People to suppress. They need not exist in this project."""

    external_ids = CountedList(
        child=ExternalId(max_length=200), max_length=SUPPRESSED_AT_ONCE, allow_empty=False
    )
    reason = serializers.CharField(max_length=200, required=False, allow_blank=True)


class SuppressedSerializer(serializers.Serializer[Any]):
    """How many were suppressed."""

    added = serializers.IntegerField()
    known = serializers.IntegerField(help_text="Already suppressed; their entries are unchanged.")


class SuppressionSerializer(serializers.Serializer[Any]):
    """A person who gets no messages at all."""

    external_id = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()
    by = serializers.CharField()


class SuppressionFilters(serializers.Serializer[Any]):
    external_id_prefix = serializers.CharField(
        max_length=200, required=False, trim_whitespace=False
    )


class Suppressions(ApiView):
    @takes(
        *pages.PARAMETERS,
        query.text("external_id_prefix", "The start of the external id."),
    )
    @extend_schema(
        operation_id="suppressions_list",
        responses=pages.schema_of(SuppressionSerializer),
        examples=[EVERYBODY],
    )
    def get(self, request: Request) -> Response:
        """All suppressed people, newest first."""
        start = self.given(SuppressionFilters, request.query_params.dict()).get(
            "external_id_prefix", ""
        )
        return self._search(start) if start else self._page(self._suppressions())

    def _suppressions(self) -> QuerySet[Suppression]:
        return Suppression.objects.filter(project=self.project)

    @slow
    def _search(self, start: str) -> Response:
        # There is an index of the starts, whatever their case.
        matching = self._suppressions().filter(
            external_id__istartswith=start, external_id__startswith=start
        )
        try:
            with statement_timeout(seconds=LOOKING_SECONDS):
                return self._page(matching)
        except TooSlow as error:
            raise serializers.ValidationError({"external_id_prefix": TOO_FEW}) from error

    def _page(self, rows: QuerySet[Suppression]) -> Response:
        return pages.page_by_id(self.request, rows, SuppressionSerializer().to_representation)

    @extend_schema(
        request=SuppressSerializer, responses=SuppressedSerializer, examples=[NEVER, SUPPRESSED]
    )
    @patient
    @idempotent
    def post(self, request: Request) -> Response:
        """Suppress up to 1,000 people: they get no messages, even after a later import."""
        given = self.given(SuppressSerializer)
        ids, reason = set(given["external_ids"]), given.get("reason", "")
        with transaction.atomic():
            added = suppress(self.project, ids, reason=reason, by=self.actor, now=timezone.now())
            if added:  # the trail outlives who is erased: how many, not who
                audit.record(
                    self.actor, "suppressed", EVERY_SUPPRESSION, project=self.project, added=added
                )
        return Response({"added": added, "known": len(ids) - added})


class SuppressionByExternalId(ApiView):
    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, external_id: str) -> Response:
        """Take a person off the suppression list. Their own choices apply again."""
        with transaction.atomic():
            if not unsuppress(self.project, [external_id]):
                raise NotFound("Nobody with this id is suppressed in this project.")
            audit.record(self.actor, "took off", EVERY_SUPPRESSION, project=self.project, removed=1)
        return Response(status=HTTPStatus.NO_CONTENT)
