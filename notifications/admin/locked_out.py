"""Lockout page: after too many wrong passwords or codes, how long to wait and what to do."""

from __future__ import annotations

from math import ceil

from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from notifications.staff.login_throttle import Kind, LockedOut


def page(request: HttpRequest, lock: LockedOut) -> HttpResponse:
    context = {
        **site.each_context(request),
        "is_wrong": lock.is_wrong,
        "is_code": lock.kind is Kind.CODE,
        "minutes": ceil(lock.seconds / 60),
    }
    response = render(request, "admin/locked_out.html", context, status=429)
    response["Retry-After"] = str(lock.seconds)
    response["Cache-Control"] = "no-store"
    return response
