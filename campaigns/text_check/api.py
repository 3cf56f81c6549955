"""Text checks: what a campaign's text says to its whole audience, read by a worker."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.launch_check import text_check_result
from campaigns.launch_check.text_check_result import TextsChecked
from campaigns.planning.campaign import Campaign
from campaigns.runs.variants.group import MAIN, name_of
from campaigns.text_check.model import MAX_DAYS, TextCheck, newest
from campaigns.text_check.report import Code, Level
from campaigns.text_check.stale import Why
from campaigns.text_check.start import DAYS, Refused
from campaigns.text_check.words import FindingInWords
from notifications.api.base.fields import Nothing, StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem, refuses
from notifications.api.base.view import ApiView
from notifications.fcm.visible_length import ROOMS
from notifications.people.device import Device
from notifications.staff.api_key import Scope
from notifications.task_queue import enqueue_on_commit

EXAMPLE = OpenApiExample(
    "With links", {"try_links": True, "same_text_within_days": 30}, request_only=True
)


class TextCheckAskedSerializer(StrictSerializer):
    """What is looked at beside the text itself."""

    try_links = serializers.BooleanField(
        default=False,
        help_text="Ask the project's own hosts for the links and images; at most 20 requests.",
    )
    same_text_within_days = serializers.IntegerField(
        default=DAYS,
        min_value=0,
        max_value=MAX_DAYS,
        help_text="Look for runs that sent the same text to the same people. 0: do not.",
    )


class TextCheckTotals(serializers.Serializer[Any]):
    """Devices."""

    devices = serializers.IntegerField()
    out = serializers.IntegerField(help_text="Of people who unsubscribed or are suppressed.")
    skipped = serializers.IntegerField(help_text="They lack a value that the text needs.")
    sent_to = serializers.IntegerField(help_text="`devices` minus `out` and `skipped`.")
    with_default = serializers.IntegerField(
        help_text="Of `sent_to`, those who lack a value that the text can do without."
    )


class TextCheckReaders(TextCheckTotals):
    """The readers of one text of the template, in devices."""

    text = serializers.CharField(help_text="Its language; empty: the main text.")
    languages = serializers.DictField(
        child=serializers.IntegerField(), help_text="Devices by language, those with the most."
    )


class TextCheckFinding(serializers.Serializer[Any]):
    """One thing that was found."""

    code = serializers.ChoiceField(choices=[(one.value, one.name) for one in Code])
    level = serializers.ChoiceField(choices=[(one.value, one.name) for one in Level])
    message = serializers.CharField()
    devices = serializers.IntegerField(help_text="0 where it is not about devices.")
    exact = serializers.BooleanField(
        help_text="False: reckoned, as a filter or a condition makes texts of unknown length."
    )
    text = serializers.CharField(
        allow_null=True, help_text="The language of the text; empty: the main text; null: of all."
    )
    platform = serializers.CharField()
    variable = serializers.CharField()
    contacts = serializers.ListField(
        child=serializers.CharField(),
        help_text="External ids of a few; empty for a key that may not read people.",
    )


class TextCheckLongest(serializers.Serializer[Any]):
    """The longest of one text on one platform. null: nobody gets it."""

    text = serializers.CharField(help_text="The language of the text; empty: the main text.")
    platform = serializers.ChoiceField(choices=Device.Platform.choices)
    devices = serializers.IntegerField()
    title = serializers.IntegerField(allow_null=True, help_text="In letters; wide ones are two.")
    title_shown = serializers.IntegerField(help_text="How many such phones show opened, about.")
    title_at_once = serializers.IntegerField(help_text="How many they show before that, about.")
    body = serializers.IntegerField(allow_null=True)
    body_shown = serializers.IntegerField()
    body_at_once = serializers.IntegerField()
    bytes = serializers.IntegerField(allow_null=True, help_text="FCM takes 4,096 at most.")
    title_cut = serializers.IntegerField(help_text="Devices whose title is longer than shown.")
    body_cut = serializers.IntegerField()
    too_large = serializers.IntegerField(help_text="Devices whose message FCM would refuse.")


class TextCheckLink(serializers.Serializer[Any]):
    """An address that was tried."""

    url = serializers.CharField()
    status = serializers.IntegerField(allow_null=True, help_text="null: there was no answer.")
    error = serializers.CharField(help_text="Why there was none, or empty.")


class TextCheckStaleSerializer(serializers.Serializer[Any]):
    """Why a report does not hold any more."""

    code = serializers.ChoiceField(choices=[(one.value, one.name) for one in Why])
    message = serializers.CharField()


class TextCheckReport(serializers.Serializer[Any]):
    """What the last whole check found. It is kept until the next is whole."""

    id = serializers.IntegerField()
    finished_at = serializers.DateTimeField()
    stale = TextCheckStaleSerializer(many=True, help_text="Empty: it holds.")
    exact = serializers.BooleanField(
        help_text="False: a condition of the text decides for each person who is skipped."
    )
    totals = TextCheckTotals()
    texts = TextCheckReaders(many=True)
    findings = TextCheckFinding(many=True)
    longest = TextCheckLongest(many=True)
    links = TextCheckLink(many=True)


class TextCheckOfTextSerializer(serializers.Serializer[Any]):
    """The newest check of one text, and its last report."""

    id = serializers.IntegerField()
    state = serializers.ChoiceField(choices=TextCheck.State.choices)
    percent = serializers.IntegerField()
    devices_read = serializers.IntegerField()
    problem = serializers.CharField(help_text="Why it failed, or empty.")
    asked_at = serializers.DateTimeField()
    report = TextCheckReport(allow_null=True)


class TextCheckSerializer(TextCheckOfTextSerializer):
    """The newest text check of a campaign, and the last report, both of its main text; those of its
    variants by letter."""

    variants = serializers.DictField(
        child=TextCheckOfTextSerializer(),
        help_text="Of B to E, as if everybody got that text: who gets which is drawn when the run "
        "starts.",
    )


class TextChecks(ApiView):
    """A door of text checks."""

    def report_json(self, campaign: Campaign) -> dict[str, Any]:
        last, checked = newest(campaign), text_check_result.check_texts(campaign, timezone.now())
        if MAIN not in last:
            raise NotFound(f"The texts of campaign {campaign.pk} were never checked.")
        reports = {n: self._of_text(check, checked.get(n)) for n, check in last.items()}
        others = {name_of(number): report for number, report in reports.items() if number != MAIN}
        return {**reports[MAIN], "variants": others}

    def _of_text(self, check: TextCheck, texts: TextsChecked | None) -> dict[str, Any]:
        return {
            "id": check.pk,
            "state": check.state,
            "percent": check.percent,
            "devices_read": check.devices_read
            or (check.report or {}).get("totals", {}).get("devices", 0),
            "problem": check.problem,
            "asked_at": check.asked_at,
            "report": self._report(texts) if texts else None,
        }

    def _report(self, texts: TextsChecked) -> dict[str, Any]:
        stored: dict[str, Any] = texts.check.report or {}
        return {
            "id": texts.check.pk,
            "finished_at": texts.check.finished_at,
            "stale": [{"code": one.code, "message": one.words} for one in texts.stale],
            "exact": texts.exact,
            "totals": texts.totals,
            "texts": [_readers(text, texts.totals) for text in stored["texts"]],
            "findings": [self._finding(one) for one in texts.findings],
            "longest": [line for text in stored["texts"] for line in _longest(text)],
            "links": stored["links"],
        }

    def _finding(self, finding: FindingInWords) -> dict[str, Any]:
        return {
            "code": finding.code,
            "level": finding.level,
            "message": finding.words,
            "devices": finding.devices,
            "exact": finding.exact,
            "text": finding.text,
            "platform": finding.platform,
            "variable": finding.variable,
            "contacts": finding.people if Scope.CONTACTS in self.key.scopes else [],
        }


def _readers(text: dict[str, Any], totals: dict[str, int]) -> dict[str, Any]:
    return {
        "text": text["text"],
        "languages": dict(text["locales"]),
        **{name: text[name] for name in totals},
    }


def _longest(text: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "text": text["text"],
            "platform": row["platform"],
            "devices": row["devices"],
            **{name: longest[0] if longest else None for name, longest in row["longest"].items()},
            "title_shown": row["shows"]["title"],
            "title_at_once": ROOMS[row["platform"]]["title"].closed,
            "body_shown": row["shows"]["body"],
            "body_at_once": ROOMS[row["platform"]]["body"].closed,
            **{name: row[name] for name in ("title_cut", "body_cut", "too_large")},
        }
        for row in text["platforms"]
    ]


class CampaignTextCheck(TextChecks):
    @extend_schema(responses=TextCheckSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """How far the newest text check is, and what the last whole one found."""
        return Response(self.report_json(self.find(Campaign, pk)))

    @refuses(HTTPStatus.UNPROCESSABLE_ENTITY)
    @extend_schema(
        request=TextCheckAskedSerializer, responses={202: TextCheckSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Have a worker read the text for everybody in the audience, and that of each variant.
        Nothing is sent. One check of a campaign is under way at a time."""
        options, campaign = self.given(TextCheckAskedSerializer), self.find(Campaign, pk)
        try:
            checks = control.begin_text_check(
                campaign,
                tries_links=options["try_links"],
                days=options["same_text_within_days"],
                by=self.actor,
                now=timezone.now(),
            )
        except ObjectDoesNotExist as error:
            raise NotFound(f"There is no campaign {pk} in this project.") from error
        except Refused as error:
            raise Problem(
                HTTPStatus.UNPROCESSABLE_ENTITY, str(error), kind="not-checked"
            ) from error
        # The task enqueues the next check when this one is over.
        enqueue_on_commit(tasks.check_texts, check_id=checks[0].pk)
        return Response(self.report_json(campaign), status=HTTPStatus.ACCEPTED)


class TextCheckCancel(TextChecks):
    @extend_schema(request=Nothing, responses=TextCheckSerializer)
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Stop the text check that is under way. The last report stays. Of one that is over
        nothing changes."""
        self.given(Nothing)
        campaign = self.find(Campaign, pk)
        control.cancel_text_check(campaign, by=self.actor, now=timezone.now())
        return Response(self.report_json(campaign))
