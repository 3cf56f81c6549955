"""Test sends through the API: a template or a campaign on a few devices, and FCM's answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from django.db.models import Model
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import LETTERS, MAIN, NUMBERS
from campaigns.test_sends import recipients
from campaigns.test_sends.create import (
    MAX_OF_ONE,
    MAX_OF_PROJECT,
    Refused,
    TextToTest,
    TooManyTests,
    create_test,
    text_of_campaign,
    text_of_template,
)
from campaigns.test_sends.demo_phones import can_ring
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.test_sends.report import DeviceReport, build_report
from campaigns.test_sends.tasks import send_test
from campaigns.texts.template import Template
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.view import ApiView
from notifications.api.person_in_query import ExternalId
from notifications.people.contact import Contact
from notifications.staff.api_key import Scope
from notifications.task_queue import enqueue_on_commit
from notifications.values.languages import canonical, validate_locale

TESTERS, ONE, DEMO = TO = ["testers", "contact", "demo_phones"]
UNKNOWN_CONTACT = "There is no such person in this project."
EXAMPLES = [
    OpenApiExample("The testers", {"to": "testers"}, request_only=True),
    OpenApiExample(
        "Ada's phone, as Sora reads it",
        {"to": "contact", "contact": "ada", "values_of": "sora", "locale": "ko"},
        request_only=True,
    ),
]
REFUSALS = {
    HTTPStatus.TOO_MANY_REQUESTS: (
        f"Too many calls; or {MAX_OF_ONE} tests by this key, or {MAX_OF_PROJECT} of the project, "
        "within five minutes. Nothing was sent."
    )
}


class TestAskedSerializer(StrictSerializer):
    """Who receives a test, and whose values it is read with."""

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
        help_text="The external id of the person whose values fill the text. Left out: each "
        "their own.",
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
            text = 'Only with "to": "contact". Leave it out, or change `to`.'
            raise serializers.ValidationError({"contact": text})
        return attrs


class CampaignTestAskedSerializer(TestAskedSerializer):
    """The same, and which of the campaign's texts is sent."""

    variant = serializers.ChoiceField(
        choices=[*LETTERS],
        default=LETTERS[MAIN],
        error_messages={"invalid_choice": "Use A, B, C, D or E."},
        help_text="Which text, of a campaign with variants.",
    )


class TestedDevice(serializers.Serializer[Any]):
    """What FCM said of one device."""

    contact = serializers.CharField(
        help_text="External id; empty for a key that may not read people."
    )
    device = serializers.CharField(help_text="The end of its address; empty if there is none.")
    platform = serializers.CharField()
    status = serializers.ChoiceField(choices=DeviceTest.Status.choices)
    reason = serializers.CharField(help_text="A code; empty if accepted or waiting.")
    meaning = serializers.CharField(help_text="The same in words.")
    next_step = serializers.CharField(help_text="What to do about it.")
    detail = serializers.CharField()
    http = serializers.IntegerField(help_text="The status of FCM's answer; 0: there was none.")
    code = serializers.CharField(help_text="What the answer calls itself, such as UNREGISTERED.")
    answer = serializers.CharField(help_text="FCM's answer, word for word; at most 4,000 letters.")
    message_id = serializers.CharField(help_text="The name FCM gave the message.")
    seconds = serializers.FloatField(allow_null=True, help_text="From the request to the answer.")


class TestSerializer(serializers.Serializer[Any]):
    """A test send, and what came of it so far."""

    id = serializers.IntegerField()
    name = serializers.CharField(help_text="Of the template or the campaign.")
    at = serializers.DateTimeField()
    locale = serializers.CharField()
    finished = serializers.BooleanField(help_text="Whether every device has its answer.")
    totals = serializers.DictField(child=serializers.IntegerField(), help_text="Devices by status.")
    devices = TestedDevice(many=True)


class TestView(ApiView):
    """What the endpoints of test sends share."""

    place = ("api-test", "id")
    refusals = REFUSALS

    def send(
        self, text_of: Callable[[], TextToTest], about: Model, given: dict[str, Any]
    ) -> Response:
        contacts = self._recipients(given)
        reads_as = (
            self._find_contact(given["values_of"], "values_of") if "values_of" in given else None
        )
        try:
            test = create_test(
                replace(text_of(), reads_as=reads_as, locale=given.get("locale", "")),
                contacts,
                about=about,
                by=self.actor,
                now=timezone.now(),
            )
        except Invalid as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "The text is not in order; see errors.",
                kind="not-ready",
                errors=error.message_dict,
            ) from error
        except TooManyTests as error:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                str(error),
                kind="too-many-tests",
                retry_after=error.seconds,
            ) from error
        except Refused as error:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), kind="not-sent") from error
        enqueue_on_commit(send_test, test_id=test.pk)
        return Response(self.show(test), status=HTTPStatus.ACCEPTED)

    def _recipients(self, values: dict[str, Any]) -> list[Contact]:
        if values["to"] == ONE:
            return [self._find_contact(values["contact"], "contact")]
        if values["to"] == TESTERS:
            people = recipients.first_testers(self.project)
            problem = 'Nobody is a tester yet: PATCH contacts/{external_id} with {"tester": true}.'
        else:
            owners = recipients.demo_phone_owners(self.project)
            people = list(owners) if can_ring(self.project) else []
            problem = "No demo phone is on: open the page /demo/phone of `make run`."
        if not people:
            raise serializers.ValidationError({"to": problem})
        return people

    def _find_contact(self, external_id: str, field: str) -> Contact:
        contact = recipients.find_contact(self.project, external_id)
        if contact is None:
            raise serializers.ValidationError({field: UNKNOWN_CONTACT})
        return contact

    def show(self, test: SentTest) -> dict[str, Any]:
        report = build_report(test)
        return {
            "id": test.pk,
            "name": test.name,
            "at": test.at,
            "locale": test.locale,
            "finished": report.finished,
            "totals": report.counts,
            "devices": [self._device(device) for device in report.devices],
        }

    def _device(self, device: DeviceReport) -> dict[str, Any]:
        row, may_read_contacts = device.row, Scope.CONTACTS in self.key.scopes
        outcome = {name: getattr(row, name) for name in ("reason", "http", "code", "message_id")}
        return {
            "contact": device.contact if may_read_contacts else "",
            "device": device.address,
            "platform": row.platform,
            "status": row.status,
            **outcome,
            "meaning": device.meaning,
            "next_step": device.next_step,
            "detail": row.detail,
            "answer": row.raw,
            "seconds": row.seconds,
        }


class TemplateTest(TestView):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(request=TestAskedSerializer, responses={202: TestSerializer}, examples=EXAMPLES)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send a template to a few, as general marketing. Its data says that it is a test, and no
        result counts it. Each device is asked about once; what FCM said is at `tests/{id}`."""
        template = self.find(Template, pk)
        values = self.given(TestAskedSerializer)
        return self.send(lambda: text_of_template(template), template, values)


class CampaignTest(TestView):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(
        request=CampaignTestAskedSerializer, responses={202: TestSerializer}, examples=EXAMPLES[:1]
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send to a few what a launch at this moment would send. People who opted out of its
        category, or are suppressed, get nothing."""
        campaign = self.find(Campaign, pk)
        values = self.given(CampaignTestAskedSerializer)
        number = NUMBERS[values.pop("variant")]
        return self.send(lambda: text_of_campaign(campaign, number), campaign, values)


class TestById(TestView):
    @extend_schema(responses=TestSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What came of a test so far. Tests are kept for a week."""
        return Response(self.show(self.find(SentTest, pk)))
