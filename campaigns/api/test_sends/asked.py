"""A test as a program asks for it: to whom, in which language, with whose values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from rest_framework import serializers

from campaigns.runs.variants.group import LETTERS, MAIN
from campaigns.test_sends import whom
from campaigns.test_sends.asking import MOST_DEVICES
from campaigns.test_sends.demo_phones import can_ring
from notifications.api.ground.fields import StrictSerializer
from notifications.api.named import ExternalId
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.values.languages import canonical, validate_locale

TESTERS, ONE, DEMO = TO = ["testers", "contact", "demo_phones"]
NOBODY = "There is no such person in this project."


class TestAskedSerializer(StrictSerializer):
    """To whom a test goes, and as whom it is read."""

    to = serializers.ChoiceField(
        choices=TO,
        default=TESTERS,
        error_messages={"invalid_choice": f"Use one of {', '.join(TO)}."},
        help_text="The testers, one person (`contact`), or the demo phones of `make run`.",
    )
    contact = ExternalId(required=False, help_text="With `to: contact`: the external id.")
    locale = serializers.CharField(
        max_length=35,
        required=False,
        allow_blank=True,
        help_text="The language it is read in. Left out: that of whoever's values are used.",
    )
    values_of = ExternalId(
        required=False,
        help_text="The external id of whose values it is read with. Left out: each their own.",
    )

    def validate_locale(self, locale: str) -> str:
        if not locale:
            return ""
        try:
            validate_locale(locale)
        except Invalid as error:
            raise serializers.ValidationError(error.messages) from error
        return canonical(locale)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["to"] == ONE and "contact" not in attrs:
            raise serializers.ValidationError({"contact": "Name the person it goes to."})
        if attrs["to"] != ONE and "contact" in attrs:
            said = 'Only with "to": "contact". Leave it out, or change `to`.'
            raise serializers.ValidationError({"contact": said})
        return attrs


class CampaignTestAskedSerializer(TestAskedSerializer):
    """The same, and which of the campaign's texts."""

    variant = serializers.ChoiceField(
        choices=[*LETTERS],
        default=LETTERS[MAIN],
        error_messages={"invalid_choice": "Use A, B, C, D or E."},
        help_text="Which text, of a campaign with variants.",
    )


@dataclass(frozen=True)
class Asked:
    """The people meant, found."""

    people: list[Contact]
    values_of: Contact | None
    locale: str


def found(project: Project, given: dict[str, Any]) -> Asked:
    """Raises ValidationError where nobody is meant."""
    reads_as = None
    if "values_of" in given:
        reads_as = whom.person(project, given["values_of"]).first()
        if reads_as is None:
            raise serializers.ValidationError({"values_of": NOBODY})
    return Asked(_people(project, given), reads_as, given.get("locale", ""))


def _people(project: Project, given: dict[str, Any]) -> list[Contact]:
    if given["to"] == ONE:
        people, field, nobody = list(whom.person(project, given["contact"])), "contact", NOBODY
    elif given["to"] == TESTERS:
        people, field = whom.some_testers(project, MOST_DEVICES), "to"
        nobody = 'Nobody is a tester yet: PATCH contacts/{external_id} with {"tester": true}.'
    else:
        people = list(whom.with_demo_phones(project)) if can_ring(project) else []
        field, nobody = "to", "No demo phone is on: open the page /demo/phone of `make run`."
    if not people:
        raise serializers.ValidationError({field: nobody})
    return people
