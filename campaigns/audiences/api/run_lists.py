"""A static list of some of the people of a run."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.utils import translation
from django.utils.translation import gettext
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns import tasks
from campaigns.audiences.api.lists import PLAIN_NAME, ListSerializer
from campaigns.audiences.lists import filling, run_lists
from campaigns.runs.run import Run
from notifications.api.base.fields import StrictSerializer
from notifications.api.base.idempotency import idempotent
from notifications.api.base.problems import Problem
from notifications.api.base.view import ApiView
from notifications.staff import audit
from notifications.task_queue import enqueue_on_commit

NOT_KNOWN = "Who was in it is not known: it has not ended, or its recipients were removed."
SHOWN = 40  # of the choices, where one is asked for that this run has not
EXAMPLE = OpenApiExample(
    "Who has not opened it", {"who": "not_opened", "name": "Remind these"}, request_only=True
)


class ListOfRunSerializer(StrictSerializer):
    """Of whom the list is made."""

    who = serializers.CharField(
        max_length=200,
        help_text="`planned`, `accepted`, `not_reached`, `received`, `displayed`, `opened`, "
        "`not_opened`, `not_opened:can_tell`, `dismissed`, `action_1` to `action_3`, `rejected`, "
        "`skipped` or `unknown`; of these three one reason after a colon, as in "
        "`skipped:missing_value`, and one value after another, as in "
        "`skipped:missing_value:city`. Only what this run has.",
    )
    name = serializers.CharField(
        max_length=100,
        required=False,
        validators=[PLAIN_NAME],
        help_text="Left out: made of the run and of who it is.",
    )


class RunList(ApiView):
    place = ("api-list", "id")

    @extend_schema(request=ListOfRunSerializer, responses={201: ListSerializer}, examples=[EXAMPLE])
    @idempotent
    def post(self, request: Request, pk: int) -> Response:
        """Make a static list of some of the people of a finished run. It counts people: who was
        accepted on one of two phones was accepted. `not_opened` are those who were accepted and
        of whom no phone reported that it was opened; with `:can_tell` only those of them whose
        every phone would have. A number is added to a name that is taken. A long list is still
        being filled when the answer comes: it cannot be launched before it is whole.
        """
        values = self.given(ListOfRunSerializer)
        run = self.find(Run, pk)
        if not run_lists.is_known(run):
            raise Problem(HTTPStatus.CONFLICT, NOT_KNOWN, kind="invalid-move")
        label = _label(run, values["who"])
        name = values.get("name") or gettext("Run %(number)d: %(who)s") % {
            "number": run.pk,
            "who": label,
        }
        audience = filling.begin(run.project_id, name, run_lists.rule(run, values["who"]), run=run)
        about: dict[str, Any] = {"from_run": run.pk}
        audit.record(self.actor, "created", audience, project=self.project, **about)
        if not filling.at_once(audience):
            enqueue_on_commit(tasks.fill_list, audience_id=audience.pk)
        return Response(ListSerializer(audience).data, status=HTTPStatus.CREATED)


def _label(run: Run, choice: str) -> str:
    with translation.override("en"):
        choices = run_lists.choices(run)
    if choice in choices:
        return choices[choice]
    first_choices = ", ".join(list(choices)[:SHOWN])
    raise serializers.ValidationError(
        {"who": f"This run has no such people. Use one of {first_choices}."}
    )
