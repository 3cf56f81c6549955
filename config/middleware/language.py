"""The language of a page: the one chosen here before, else the browser's, else English."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

FOR_PEOPLE = ("/admin/", "/language/")


class Language(LocaleMiddleware):
    """Middleware: translates pages for people. Programs always read English.

    An API's error texts end up in an engineer's log and in programs that search them. The words of
    /healthz and /metrics end up in alerts. So they must be the same for every caller.
    """

    def process_request(self, request: HttpRequest) -> None:
        if request.path.startswith(FOR_PEOPLE):
            super().process_request(request)
        else:
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
