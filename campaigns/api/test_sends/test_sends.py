"""Test sends: a template or a campaign on a few devices, and what FCM said of each."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError as Invalid
from django.db.models import Model
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.api.test_sends.asked import CampaignTestAskedSerializer, TestAskedSerializer, found
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import NUMBERS
from campaigns.test_sends import telling
from campaigns.test_sends.asking import (
    MOST_OF_ONE,
    MOST_OF_PROJECT,
    Refused,
    TooOften,
    Tried,
    of_campaign,
    of_template,
)
from campaigns.test_sends.sent_test import DeviceTest, SentTest
from campaigns.texts.template import Template
from notifications.api.ground.idempotency import idempotent
from notifications.api.ground.problems import Problem, refuses
from notifications.api.ground.view import ApiView
from notifications.staff.access import Scope
from notifications.task_queue import enqueue_on_commit

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
        f"Too many calls; or {MOST_OF_ONE} tests by this key, or {MOST_OF_PROJECT} of the project, "
        "within five minutes. Nothing was sent."
    )
}


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


class Tests(ApiView):
    """A door of test sends."""

    place = ("api-test", "id")
    refusals = REFUSALS

    def send(self, tried: Tried, about: Model, given: dict[str, Any]) -> Response:
        asked = found(self.project, given)
        try:
            test = control.send_test(
                tried,
                asked.people,
                about=about,
                reads_as=asked.values_of,
                locale=asked.locale,
                by=self.actor,
                now=timezone.now(),
            )
        except TooOften as error:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS,
                str(error),
                kind="too-many-tests",
                retry_after=error.seconds,
            ) from error
        except Refused as error:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error), kind="not-sent") from error
        enqueue_on_commit(tasks.send_test, test_id=test.pk)
        return Response(self.shown(test), status=HTTPStatus.ACCEPTED)

    def shown(self, test: SentTest) -> dict[str, Any]:
        picture = telling.picture(test)
        return {
            "id": test.pk,
            "name": test.name,
            "at": test.at,
            "locale": test.locale,
            "finished": picture.finished,
            "totals": picture.counts,
            "devices": [self._device(one) for one in picture.devices],
        }

    def _device(self, told: telling.Told) -> dict[str, Any]:
        row, knows = told.row, Scope.CONTACTS in self.key.scopes
        kept = {name: getattr(row, name) for name in ("reason", "http", "code", "message_id")}
        return {
            "contact": told.contact if knows else "",
            "device": told.address,
            "platform": row.platform,
            "status": row.status,
            **kept,
            "meaning": told.meaning,
            "next_step": told.next_step,
            "detail": row.detail,
            "answer": row.raw,
            "seconds": row.seconds,
        }


class TemplateTest(Tests):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(request=TestAskedSerializer, responses={202: TestSerializer}, examples=EXAMPLES)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send a template to a few, as general marketing. Its data says that it is a test, and no
        result counts it. Each device is asked about once; what FCM said is at `tests/{id}`."""
        template = self.find(Template, pk)
        given = self.given(TestAskedSerializer)
        return self.send(_in_order(lambda: of_template(template)), template, given)


class CampaignTest(Tests):
    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(
        request=CampaignTestAskedSerializer, responses={202: TestSerializer}, examples=EXAMPLES[:1]
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Send to a few what a launch at this moment would send, to nobody whom its category or a
        suppression keeps from it."""
        campaign = self.find(Campaign, pk)
        given = self.given(CampaignTestAskedSerializer)
        number = NUMBERS[given.pop("variant")]
        return self.send(_in_order(lambda: of_campaign(campaign, number)), campaign, given)


def _in_order(tried: Any) -> Tried:
    try:
        made: Tried = tried()
    except Invalid as error:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "The text is not in order; see errors.",
            kind="not-ready",
            errors=error.message_dict,
        ) from error
    return made


class TestById(Tests):
    @extend_schema(responses=TestSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What came of a test so far. Tests are kept for a week."""
        return Response(self.shown(self.find(SentTest, pk)))
