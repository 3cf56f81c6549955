"""What a person wants to hear, by their own app."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from notifications.api.base.patience import patient
from notifications.api.base.problems import refuses
from notifications.api.person.view import PersonsView
from notifications.api.reading import read_answers
from notifications.api.shapes import PreferencesField
from notifications.people.consent.category import Category, slugs_of
from notifications.people.consent.record import record_answers
from notifications.people.contact import Contact

SOURCE = "app"
NO_OFFERS = OpenApiExample("No offers", {"preferences": {"offers": False}}, request_only=True)


class PersonsCategory(serializers.Serializer[Any]):
    """A category of this project, and what this person said of it."""

    slug = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Category.Kind.choices)
    wanted = serializers.BooleanField(
        help_text="False if they declined it. Only marketing can be declined, and goes to nobody "
        "who is not subscribed."
    )


class PersonsAnswersGiven(serializers.Serializer[Any]):
    """What the person says they want to hear. Takes what GET showed, too."""

    subscribed = serializers.BooleanField(
        required=False, help_text="False: they want no marketing. Unchanged if left out."
    )
    subscribed_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When they said so; left out or null: now. An answer older than the one that is "
        "stored changes nothing. GET shows null if they never answered.",
    )
    preferences = PreferencesField(
        required=False,
        help_text="By category slug: true, false, or an object with the time they said so. "
        "Categories you leave out keep their value.",
    )


class PersonsPreferences(PersonsAnswersGiven):
    """What the person wants to hear."""

    subscribed_from = serializers.CharField(
        help_text="api, import, page or app; empty: they never answered."
    )
    categories = PersonsCategory(many=True)

    def to_representation(self, contact: Contact) -> dict[str, Any]:
        answers = contact.preferences
        categories = Category.objects.filter(project=contact.project_id).order_by("name", "pk")
        return {
            "subscribed": contact.subscribed,
            "subscribed_at": contact.subscribed_at,
            "subscribed_from": contact.subscribed_from,
            "preferences": answers,
            "categories": [
                {
                    "slug": category.slug,
                    "name": category.name,
                    "kind": category.kind,
                    "wanted": answers.get(category.slug, {}).get("wanted", True),
                }
                for category in categories
            ],
        }


class PersonsAnswers(PersonsView):
    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(responses=PersonsPreferences)
    def get(self, request: Request) -> Response:
        """What this person wants to hear, and every category there is."""
        return self._preferences_response()

    @refuses(HTTPStatus.NOT_FOUND)
    @extend_schema(request=PersonsAnswersGiven, responses=PersonsPreferences, examples=[NO_OFFERS])
    @patient
    def patch(self, request: Request) -> Response:
        """Change the given answers; what you leave out stays as it is. The newest answer counts."""
        external_id, slugs = self.person().external_id, partial(slugs_of, self.project)
        answers = read_answers(request.data, external_id, slugs, began=self.began)
        record_answers(self.project, answers, source=SOURCE, by=SOURCE, now=timezone.now())
        return self._preferences_response()

    def _preferences_response(self) -> Response:
        return Response(PersonsPreferences().to_representation(self.person()))
