"""Second factor (2FA): the page to manage it, and the page that asks for a code at log-in."""

from __future__ import annotations

from typing import Any

import django_otp
from django.contrib import messages
from django.contrib.admin import site
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from notifications.admin.ui import safe_redirect
from notifications.admin.ui.page import actor
from notifications.keys import sealing
from notifications.staff import audit, identity_check, known_browser, login_signals, second_factor

WRONG = gettext_lazy(
    "The code is not right. Each works for half a minute; is the phone's clock right?"
)
UNREADABLE = gettext_lazy(
    "This server cannot read your app's secret: its CREDENTIALS_KEY is another one. Use a recovery"
    " code, and tell an operator."
)


def ask(request: HttpRequest) -> HttpResponse:
    """Ask for the code, after the password and before any other page."""
    problem = ""
    if request.method == "POST":
        problem, device = _try_code(request)
        if device is not None:
            return _let_in(request, device)
    context = {"title": _("Second factor"), "problem": problem, "next": _next_page(request)}
    return _render_page(request, "admin/second_factor_ask.html", context)


def _let_in(request: HttpRequest, device: Any) -> HttpResponse:
    request.session.cycle_key()
    django_otp.login(request, device)
    user: Any = request.user
    known_browser.let_in(request, user)
    if device.name == "recovery codes":
        remaining = second_factor.codes_left(user)
        _note(request, "used a recovery code", left=remaining)
        text = ngettext(
            "%(left)s recovery code is left.", "%(left)s recovery codes are left.", remaining
        )
        messages.warning(request, text % {"left": remaining})
    return HttpResponseRedirect(_next_page(request))


def _next_page(request: HttpRequest) -> str:
    """The page the user wanted, if it is on this site; else the overview."""
    return safe_redirect.page(request.POST.get("next") or request.GET.get("next") or "")


def own(request: HttpRequest) -> HttpResponse:
    """The user's own second factor: set it up, see its state, renew recovery codes, turn it off."""
    user: Any = request.user
    step = request.POST.get("step", "") if request.method == "POST" else ""
    # An open page alone must not set up or replace a factor: a passer-by could register their own
    # phone, and the user's phone would stop working.
    if second_factor.device_of(user) is None:
        if step == "begin":
            return _begin(request, user)
        if step == "confirm" and second_factor.has_any(user):
            return _confirm(request, user)
    elif step == "codes":
        return _new_codes(request, user)
    elif step == "off":
        return _turn_off(request, user)
    return _show_state(request, user)


def _begin(request: HttpRequest, user: Any) -> HttpResponse:
    if problem := _password_problem(request):
        return _show_state(request, user, problem)
    device = second_factor.begin(user)
    context = {
        "picture": second_factor.picture(device),
        "secret": second_factor.secret_in_words(device),
    }
    return _show_setup(request, **context)


def _confirm(request: HttpRequest, user: Any) -> HttpResponse:
    """Confirm the new factor with a code. A wrong code does not show the secret again: it is shown
    once, to a user who has given the password."""
    was_known = known_browser.id_of(request, user)  # read first: the new factor ends the mark
    codes = identity_check.confirm_factor(request, request.POST.get("code", "").replace(" ", ""))
    if codes is None:
        return _show_setup(request, problem=str(WRONG))
    if was_known:
        known_browser.let_in(request, user)
    django_otp.login(request, second_factor.device_of(user))
    _note(request, "set up a second factor")
    return _show_codes(request, codes)


def _new_codes(request: HttpRequest, user: Any) -> HttpResponse:
    problem, device = _try_code(request)
    if device is None:
        return _show_state(request, user, problem)
    _note(request, "made new recovery codes")
    return _show_codes(request, second_factor.renew_codes(user))


def _turn_off(request: HttpRequest, user: Any) -> HttpResponse:
    """Turn 2FA off, with password and code: an open page or a stolen password is not enough."""
    if problem := _password_problem(request):
        return _show_state(request, user, off_problem=problem)
    problem, device = _try_code(request)
    if device is None:
        return _show_state(request, user, off_problem=problem)
    second_factor.forget(user)
    known_browser.let_in(request, user)
    login_signals.end_others(request)
    _note(request, "turned the second factor off")
    messages.success(request, _("The second factor is off: your password is enough again."))
    return HttpResponseRedirect(reverse("admin:second_factor"))


def _password_problem(request: HttpRequest) -> str:
    """Why the password is refused; empty if it is right."""
    try:
        is_right = identity_check.password_is_right(request, request.POST.get("password", ""))
    except ValidationError as error:
        return error.messages[0]
    return "" if is_right else _("The password is not right.")


def _try_code(request: HttpRequest) -> tuple[str, Any]:
    try:
        device = identity_check.code_of(request, request.POST.get("code", ""))
    except sealing.Unsealable:
        return str(UNREADABLE), None
    return ("" if device else str(WRONG)), device


def _show_state(request: HttpRequest, user: Any, problem: str = "", **more: Any) -> HttpResponse:
    device = second_factor.device_of(user)
    remaining = second_factor.codes_left(user)
    context = {"device": device, "left": remaining, "problem": problem, "standing": True, **more}
    return _render_page(request, "admin/second_factor.html", context)


def _show_setup(request: HttpRequest, **context: Any) -> HttpResponse:
    return _render_page(request, "admin/second_factor.html", {"is_begun": True, **context})


def _show_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    """Show the recovery codes in this response, without a redirect: no session ever holds them."""
    return _render_page(request, "admin/second_factor.html", {"codes": codes})


def _render_page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    whole = {"title": _("Second factor"), **site.each_context(request), **context}
    return TemplateResponse(request, template, whole)


def _note(request: HttpRequest, action: str, **detail: Any) -> None:
    user: Any = request.user  # always logged in here
    audit.record(actor(request), action, user, project=None, **detail)
