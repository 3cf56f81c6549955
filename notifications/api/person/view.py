"""What every door of a person's own app is: one person, from a page that may."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar

from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from notifications.api.base.problems import Problem
from notifications.api.base.rendering import TooLarge
from notifications.api.base.view import ApiView
from notifications.api.person.authentication import InboxTokenAuthentication
from notifications.keys.inbox_token import TokenOwner
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.requests.origin import is_beside

# Anybody may have an app, and to read JSON costs us much more than to send it.
MOST_BYTES = 64 * 1024
NOBODY = "There is no such person in this project; your backend writes them first."
FOREIGN = (
    "Pages of this origin may not use this project's inbox tokens. An operator can allow it on the "
    "project's page, under “Allowed origins”."
)


class PersonsView(ApiView):
    """It names no person: the token does."""

    authentication_classes = [InboxTokenAuthentication]
    refusals: ClassVar[dict[HTTPStatus, str]] = {
        HTTPStatus.UNAUTHORIZED: "The inbox token is missing, not valid or expired.",
        HTTPStatus.FORBIDDEN: "The page that calls is of an origin that is not allowed.",
        HTTPStatus.NOT_FOUND: "The person is not there, or has no such device.",
        HTTPStatus.TOO_MANY_REQUESTS: "Too many calls for this person or from this address.",
    }

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self._refuse_foreign_page(request)
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdecimal() and int(length) > MOST_BYTES:
            raise TooLarge(f"The body may have at most {MOST_BYTES:,} bytes here.")

    def _refuse_foreign_page(self, request: Request) -> None:
        """The browser asked before which pages may, but by then nobody knew the project."""
        origin = request.headers.get("Origin")
        ours = f"{request.scheme}://{request.get_host()}"
        if origin is None or is_beside(request, origin):
            return
        if origin not in (*self.project.allowed_origins, ours):
            raise Problem(HTTPStatus.FORBIDDEN, FOREIGN, kind="foreign-origin")

    @property
    def owner(self) -> TokenOwner:
        assert isinstance(self.request.auth, TokenOwner)  # the door let nobody else in
        return self.request.auth

    @property
    def project(self) -> Project:
        return self.owner.project

    def person(self, *, held: bool = False) -> Contact:
        """Who was erased since has no doors here, and does not come back by them either."""
        rows = rows_of(self.project, self.owner.external_id)
        return first_or_404(rows.select_for_update(no_key=True) if held else rows)


def rows_of(project: Project, external_id: str) -> QuerySet[Contact]:
    rows = Contact.objects.filter(project=project)
    return rows.none() if "\x00" in external_id else rows.filter(external_id=external_id)


def first_or_404(rows: QuerySet[Contact]) -> Contact:
    contact = rows.first()
    if contact is None:
        raise NotFound(NOBODY)
    return contact
