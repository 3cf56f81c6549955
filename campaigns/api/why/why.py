"""One person and one run: in or not, what left and what came back, and how they stand now."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api.why.serializers import WhySerializer, told
from campaigns.results.why.why import why
from campaigns.runs.run import Run
from notifications.api.base import query
from notifications.api.base.patience import slow
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.api.named import contact_named, nobody
from notifications.people.contact import Contact


class RunWhy(ApiView):
    @takes(query.contact(required=True))
    @extend_schema(responses=WhySerializer)
    @slow
    def get(self, request: Request, pk: int) -> Response:
        """Why a person got this run, or did not. `answer` says it in one sentence; `recipients` is
        certain, `now` is as of now. The number before the hyphen of a message's id is a run, too:
        all messages of that day to the person are in it."""
        run = self._run(pk)
        contact = contact_named(self, request.query_params.get("contact"))
        try:
            explanation = why(run, contact, now=timezone.now())
        except Contact.DoesNotExist as error:  # erased since they were found
            raise nobody() from error
        return Response(told(explanation))

    def _run(self, pk: int) -> Run:
        """Of every kind: `find` knows those of campaigns alone."""
        run = Run.every.filter(project=self.project, pk=pk).select_related("project").first()
        if run is None:
            raise NotFound(f"There is no run {pk} in this project.")
        return run
