"""Which language a page speaks: the one chosen here before, else the browser's, else English."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.utils import translation

FOR_PEOPLE = ("/admin/", "/language/")


class Language(LocaleMiddleware):
    """Middleware: the pages are for people; what programs read is English, whoever calls.

    An API's error texts end up in an engineer's log and in programs that search them; the words of
    /healthz and /metrics in alerts. The same for everybody is what they are worth.
    """

    def process_request(self, request: HttpRequest) -> None:
        if request.path.startswith(FOR_PEOPLE):
            super().process_request(request)
        else:
            translation.activate(settings.LANGUAGE_CODE)
            request.LANGUAGE_CODE = settings.LANGUAGE_CODE
