"""A correction: a draft with the text of a run, for those who got it, in its place."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import control, tasks
from campaigns.audiences.lists import filling
from campaigns.corrections import draft_correction
from campaigns.corrections.draft_correction import EVERY, MAIN
from campaigns.planning.api.campaigns import CampaignSerializer
from campaigns.runs.run import Run
from campaigns.runs.variants.group import LETTERS, NUMBERS, name_of
from campaigns.runs.variants.variant import as_launched, has_variants
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem
from notifications.api.base.view import ApiView
from notifications.task_queue import enqueue_on_commit

EXAMPLE = OpenApiExample("In every language", {"text": EVERY}, request_only=True)


class CorrectionSerializer(StrictSerializer):
    """Which of its texts was wrong."""

    text = serializers.CharField(
        max_length=35,
        default=EVERY,
        help_text=f"A language of the run's texts, `{MAIN}` for the main one, or `{EVERY}`. For "
        "a language: only people who got the text in it and still use this language.",
    )

    revision = serializers.IntegerField(
        min_value=1,
        required=False,
        help_text="Only those who got this revision of the text; left out: all.",
    )

    variant = serializers.ChoiceField(
        choices=[*LETTERS],
        required=False,
        error_messages={"invalid_choice": "Use A, B, C, D or E."},
        help_text="Of a run with variants: only those who got this one, and the draft has its "
        "text. Left out: all who got any, and everybody gets one text, whichever they read: that "
        "of A, or of the first variant that has `text`.",
    )


class RunCorrect(ApiView):
    place = ("api-campaign", "id")

    @extend_schema(
        request=CorrectionSerializer, responses={201: CampaignSerializer}, examples=[EXAMPLE]
    )
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Make a correction of a run that has ended: a draft campaign with a template of its own,
        which has the text as it was sent last, and a list of those who got it or may have. Put the
        template right, then launch the campaign. What it sends carries the tag of this run's
        messages, so that a phone puts it in the place of what it still shows; FCM takes nothing
        back.
        """
        values = self.given(CorrectionSerializer)
        run, text = self.find(Run, pk), values["text"]
        choice: dict[str, Any] = {
            "revisions": _revisions(run, values.get("revision")),
            "variant": _variant(run, values.get("variant")),
        }
        _refuse_unknown(run, text, **choice)
        try:
            campaign = control.correct(run, text=text, by=self.actor, **choice)
        except draft_correction.NotCorrectable as error:
            raise Problem(HTTPStatus.CONFLICT, str(error), kind="invalid-move") from error
        if not filling.at_once(campaign.audience):
            enqueue_on_commit(tasks.fill_list, audience_id=campaign.audience_id)
        return Response(CampaignSerializer(campaign).data, status=HTTPStatus.CREATED)


def _revisions(run: Run, number: int | None) -> list[int]:
    if number is not None and number > run.revision:
        text = f"There is no revision {number}; the newest is {run.revision}."
        raise serializers.ValidationError({"revision": text})
    return [] if number is None else [number]


def _variant(run: Run, letter: str | None) -> int | None:
    if letter is None:
        return None
    launched = as_launched(run)
    if NUMBERS[letter] not in launched:
        letters = ", ".join(map(name_of, launched))
        text = f"There is no variant {letter} in this run. Use one of {letters}."
        if not has_variants(run):
            text = "This run has no variants. Leave it out."
        raise serializers.ValidationError({"variant": text})
    return NUMBERS[letter] if has_variants(run) else None


def _refuse_unknown(run: Run, text: str, **which: Any) -> None:
    if text == EVERY:
        return
    texts = draft_correction.texts_of(run, **which)
    if text not in texts:
        allowed = ", ".join([EVERY, *texts])
        message = f"Nobody read this text. Use one of {allowed}."
        raise serializers.ValidationError({"text": message})
