"""Access checks: apply the rules of `doors.py` to pages, Django's permissions and the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config import doors
from notifications.admin.ui import safe_redirect
from notifications.keys.inbox_token import TokenOwner
from notifications.staff.api_key import ApiKey
from notifications.staff.second_factor import device_of
from notifications.staff.team import Role, owners, role_of

if TYPE_CHECKING:  # it imports this module, for its default settings
    from rest_framework.views import APIView

ASK = "second_factor_ask"


class Doorkeeper:
    """Middleware: checks the role before every view of the admin, ours or a library's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *_: Any) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or "admin" not in match.namespaces or not request.user.is_authenticated:
            return None  # the admin itself sends visitors to the log-in
        least = doors.door_of(match.url_name).least(request.method or "GET")
        if least is None:
            return None
        if _owes_a_code(request) and match.url_name != ASK:
            return _redirect_to_code(request)
        role = role_of(request.user)
        return None if role is not None and role.covers(least) else refusal(request, role, least)


def _owes_a_code(request: Any) -> bool:
    """Whether this person's password was right, but the second factor is still missing."""
    return not request.user.is_verified() and device_of(request.user) is not None


def _redirect_to_code(request: Any) -> HttpResponse:
    query = QueryDict(mutable=True)
    current_page = safe_redirect.page(request.get_full_path())
    query["next"] = safe_redirect.page_open(request) if request.htmx else current_page
    url = f"{reverse(f'admin:{ASK}')}?{query.urlencode(safe='/')}"
    return HttpResponseClientRedirect(url) if request.htmx else HttpResponseRedirect(url)


def refusal(request: HttpRequest, role: Role | None, least: Role) -> HttpResponse:
    """The 403 page: the role that the page needs, the person's own role, and the owners to ask."""
    context = {
        **admin.site.each_context(request),
        "role": role,
        "least": least,
        "owners": owners()[:3],
    }
    return render(request, "admin/no_entry.html", context, status=403)


def may(role: Role | None, page: str, method: str = "GET") -> bool:
    least = doors.door_of(page).least(method)
    return least is None or (role is not None and role.covers(least))


class RoleBackend(ModelBackend):
    """Checks passwords as Django does; takes permissions from `doors.py`, not from tables."""

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Translate a permission into a door.

        `app.change_model` is the door `app_model_change`; `app.view_model` is the door of its list.
        """
        app, _, codename = perm.partition(".")
        verb, _, model = codename.rpartition("_")
        if verb == "view":
            return may(role_of(user_obj), f"{app}_{model}_changelist")
        return may(role_of(user_obj), f"{app}_{model}_{verb}", "POST")

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        return role_of(user_obj) is not None


class ApiDoor(BasePermission):
    """Allows a call if its key has the scope of the endpoint.

    An inbox token opens its own endpoints, and a few are open to every caller.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        key, match, method = request.auth, request.resolver_match, request.method or ""
        if match is None:
            return False
        if doors.is_anybodys(match.route):
            return True
        if isinstance(key, TokenOwner):
            is_open = doors.is_a_persons(match.route, method)
            return is_open or method not in view.allowed_methods
        if not isinstance(key, ApiKey):
            return False
        scope = doors.scope_of(match.route, method)
        if scope is None:  # let the view say 405, if it has no such method
            return method not in view.allowed_methods
        self.message = f"This API key lacks the scope “{scope}”."
        return scope in key.scopes
