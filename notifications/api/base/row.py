"""Row views: read and change one row at one address, with ETag, If-Match and a row lock."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, Generic, TypeVar

import orjson
from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from notifications.api.base import tags
from notifications.api.base.patience import patient
from notifications.api.base.problems import refuses
from notifications.api.base.rendering import as_json
from notifications.api.base.view import ApiView, delete
from notifications.people.project import OfProject
from notifications.staff import audit

Row = TypeVar("Row", bound=OfProject)


class RowView(ApiView, Generic[Row]):
    """A row that is read and deleted."""

    tagged = True
    model: type[Row]
    serializer_class: type[Serializer[Any]]  # where drf-spectacular looks for it, too

    def get(self, request: Request, pk: int) -> Response:
        return Response(self.to_json(self.find(self.model, pk)))

    @refuses(HTTPStatus.CONFLICT)
    @extend_schema(responses={204: None})
    @patient
    def delete(self, request: Request, pk: int) -> Response:
        with transaction.atomic():
            row = self.held(pk)
            audit.record(self.actor, "deleted", row, project=self.project)
            delete(row)
        return Response(status=HTTPStatus.NO_CONTENT)

    def to_json(self, row: Row) -> Any:
        return self.serializer_class(row).data

    def held(self, pk: int) -> Row:
        """The row, locked until the transaction ends. Raises Problem unless it is what If-Match
        expects."""
        row = self.find(self.model, pk, locked=True)
        tags.refuse_stale(self.request, self.to_json(row))
        return row


class WritableRowView(RowView[Row]):
    """A row that may be replaced, whole or in part, too."""

    # The serializer for writing, if GET shows more than can be written; None: the one for reading.
    body_class: ClassVar[type[Serializer[Any]] | None] = None
    otherwise: ClassVar[dict[str, Any]] = {}  # values for fields that a PUT leaves out

    @refuses(HTTPStatus.CONFLICT)
    @patient
    def put(self, request: Request, pk: int) -> Response:
        body = self.request.data  # read before a row is held: a caller may be slow
        with transaction.atomic():
            row = self.held(pk)
            given = self._validate_body(body, self._as_json(row))
            self.write(row, {**self.otherwise, **given})
        return Response(self.to_json(row))

    @refuses(HTTPStatus.CONFLICT)
    @patient
    def patch(self, request: Request, pk: int) -> Response:
        body = self.request.data  # read before a row is held: a caller may be slow
        with transaction.atomic():
            row = self.held(pk)
            self.write(row, self.changed(row, body))
        return Response(self.to_json(row))

    def write(self, row: Row, given: dict[str, Any]) -> object:
        """Put what was given on the row, and save it."""
        raise NotImplementedError

    def changed(self, row: Row, body: Any) -> dict[str, Any]:
        """The body of a PATCH laid over what is there, and judged as the body of a PUT is."""
        stored = self._as_json(row)
        if isinstance(body, dict):
            body = {**stored, **body}
        return self._validate_body(body, stored)

    def _validate_body(self, body: Any, stored: dict[str, Any]) -> dict[str, Any]:
        return self.given(self.body_class or self.serializer_class, body, shown=stored)

    def _as_json(self, row: Row) -> dict[str, Any]:
        return dict(orjson.loads(as_json(self.to_json(row))))
