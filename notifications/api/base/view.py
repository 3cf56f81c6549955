"""The base view of all endpoints: one project, strict JSON, and only rows of that project."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

from django.db import IntegrityError, connection, transaction
from django.db.models import Model, ProtectedError
from django.urls import reverse
from django.utils import timezone
from psycopg.errors import UniqueViolation
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.fields import empty
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from notifications.api.base import (
    tags,
)
from notifications.api.base.problems import NO_OBJECT, Problem
from notifications.api.base.query import refuse_unknown
from notifications.api.base.rendering import AlwaysJson, refuse_unreadable
from notifications.people.project import OfProject, Project
from notifications.requests import origin
from notifications.staff import audit, changes
from notifications.staff.api_key import ApiKey

Row = TypeVar("Row", bound=OfProject)


class ApiView(APIView):
    """A door for programs; which scope opens it, `config/doors.py` says."""

    content_negotiation_class = AlwaysJson
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    # For Location: the URL name of what a request creates, and the member that is its argument.
    place: tuple[str, str] | None = None
    tagged = False  # whether answers to GET have an ETag, too
    rows_of = ""  # the member of the body whose rows are checked one by one
    # Methods whose own SQL statement checks the key again (authentication.py).
    confirms: ClassVar[frozenset[str]] = frozenset()
    deletes_named = False  # whether DELETE has a body that says what to delete
    words: ClassVar[dict[str, str]] = {}  # descriptions for the schema, if the method is inherited
    refusals: ClassVar[dict[HTTPStatus, str]] = {}  # for the schema: errors with another meaning
    never_refused: ClassVar[set[HTTPStatus]] = set()  # usual errors that do not occur here

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.began = timezone.now()  # once, however often `patient` tries
        super().initial(request, *args, **kwargs)
        refuse_unreadable(request)
        method = getattr(self, (request.method or "").lower(), None)
        if method is not None:  # else it is a 405
            refuse_unknown(request, method)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        self.sign(answer)
        return answer

    def sign(self, answer: Any) -> None:
        """Say where that stands which was made, and what tag it has; what was said stays."""
        is_created = answer.status_code == HTTPStatus.CREATED
        launched = answer.status_code == HTTPStatus.ACCEPTED
        if self.place and (is_created or launched) and "Location" not in answer:
            name, member = self.place
            address = reverse(name, args=[answer.data[member]])
            answer["Location"] = self.request.build_absolute_uri(address)
        if (
            is_created or (self.tagged and answer.status_code == HTTPStatus.OK)
        ) and "ETag" not in answer:
            tags.mark(self.request, answer)

    @property
    def key(self) -> ApiKey:
        assert isinstance(self.request.auth, ApiKey)  # requests without a key were refused
        return self.request.auth

    @property
    def project(self) -> Project:
        return self.key.project

    @property
    def actor(self) -> str:
        """As the audit trail names it."""
        return f"key:{self.key.prefix}"

    def given(
        self,
        serializer: type[Serializer[Any]],
        body: Any = empty,
        *,
        shown: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The body as the serializer understands it; raises with every field at fault. `shown`: as
        GET shows what it changes."""
        data = self.request.data if body is empty else body
        if data is None:  # for which DRF would say “No data provided”
            raise ValidationError(NO_OBJECT)
        bound_serializer = serializer(data=data, context={"project": self.project, "shown": shown})
        bound_serializer.is_valid(raise_exception=True)
        return dict(bound_serializer.validated_data)

    def find(self, model: type[Row], pk: int, *, locked: bool = False) -> Row:
        """A row of the caller's project; another project's rows do not exist here."""
        rows = model._default_manager.filter(project=self.project, pk=pk)
        if locked:  # transactions that only refer to the row need not wait, unless it is deleted
            rows = rows.select_for_update(no_key=self.request.method != "DELETE")
        row = rows.first()
        if row is None:
            raise NotFound(f"There is no {model._meta.verbose_name} {pk} in this project.")
        return row


def save(row: Model, *, called: Any = "") -> None:
    """Validate and save a row, record who did it, and reload it.

    Raises ValidationError, or Problem if another row conflicts. `called`: what such rows are
    called, if two kinds share their names.
    """
    row.full_clean(validate_constraints=False)
    model = type(row)
    stored = model._base_manager.filter(pk=row.pk).first() if row.pk else None
    if stored is not None and _same(_content(stored), _content(row)):
        row.refresh_from_db()
        return
    before = changes.values_of(stored)
    try:
        with transaction.atomic():
            row.save()
            connection.check_constraints()  # now, not at the end of an outer transaction
            _record(row, before)
            row.refresh_from_db()  # jsonb writes numbers such as 1e2 in its own form
    except IntegrityError as error:
        if not isinstance(error.__cause__, UniqueViolation):
            message = "Something it refers to was deleted meanwhile."
            raise Problem(HTTPStatus.CONFLICT, message, kind="gone") from error
        name_message = (
            f"Another {called or row._meta.verbose_name} has this name. Choose another name."
        )
        raise Problem(
            HTTPStatus.CONFLICT, name_message, kind="name-taken", errors={"name": name_message}
        ) from error


def _content(row: Model) -> dict[str, Any]:
    """Return the fields of a row, without the times of its creation and last change."""
    fields = [field for field in row._meta.concrete_fields if not getattr(field, "auto_now", False)]
    return {field.attname: field.value_from_object(row) for field in fields}


def _same(left: Any, right: Any) -> bool:
    """Compare values as JSON does: 1, 1.0, true and “1” are four different values."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, str) == isinstance(right, str) and str(left) == str(right)


def _record(row: Model, before: changes.Values) -> None:
    changed = changes.between(before, row)
    if before and not changed:
        return
    audit.record(
        origin.program(),
        "changed" if before else "created",
        row,
        project=getattr(row, "project", None),
        changes=changed,
    )


def delete(row: Model) -> None:
    """Delete a locked row, so no new row can refer to it. Raises Problem if other rows do."""
    try:
        row.delete()
    except ProtectedError as error:
        # Callers do not know rows that only connect two others: name the other end instead.
        ends = {getattr(one, "user_end", one) for one in error.protected_objects}
        users = sorted(ends, key=lambda user: user.pk)[:5]
        user_names = ", ".join(map(_as_user, users))
        raise Problem(
            HTTPStatus.CONFLICT, f"{row} is still used by {user_names}.", kind="in-use"
        ) from error


def _as_user(user: Model) -> str:
    """Name a row by its kind and id, unless it has a better name (`as_user`)."""
    return getattr(user, "as_user", "") or f"{user._meta.verbose_name} {user.pk}"
