"""What axes shows after too many wrong passwords, in our words."""

from __future__ import annotations

from typing import Any

from axes.helpers import get_cool_off, get_failure_limit
from django.contrib.admin import site
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def page(request: HttpRequest, response: Any = None, credentials: Any = None) -> HttpResponse:
    cool_off = get_cool_off(request)
    context = {
        **site.each_context(request),
        "wrong": get_failure_limit(request, credentials),
        "minutes": round(cool_off.total_seconds() / 60) if cool_off else None,
    }
    return render(request, "admin/locked_out.html", context, status=429)
