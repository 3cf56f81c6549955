"""JSON parsers and renderers: fast, limited in size, and strict about what they read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import IO, Any

import orjson
from django.conf import settings
from django.http import Http404
from rest_framework.exceptions import APIException, NotAcceptable, ParseError, ValidationError
from rest_framework.negotiation import BaseContentNegotiation, DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from notifications.values import exact, flaws
from notifications.values.nesting import MAX_DEPTH, too_deep

MAX_NAMED = 20
ROWS_AT_ONCE = 1_000  # the maximum for endpoints that check rows one by one
MAX_VALUES = 300_000  # 1,000 people with 100 attributes each are a third of it


class TooLarge(APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE.value


class NoLength(APIException):
    status_code = HTTPStatus.LENGTH_REQUIRED.value
    default_detail = "Send the body with a Content-Length."


class Packed(APIException):
    status_code = HTTPStatus.UNSUPPORTED_MEDIA_TYPE.value
    default_detail = "Send the body as it is, without a Content-Encoding."


def as_json(value: Any) -> bytes:
    return exact.dumps(value, orjson.OPT_UTC_Z)


class OrjsonRenderer(BaseRenderer):
    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Any = None,
    ) -> bytes:
        return b"" if data is None else as_json(data)


class OrjsonParser(BaseParser):
    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None
    ) -> Any:
        return parse_json(stream.read(), _rows_of(parser_context))


class ExactParser(OrjsonParser):
    """A parser for attributes, events and messages: numbers stay as they were written, of any
    length."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None
    ) -> Any:
        return read_exactly(stream.read(), _rows_of(parser_context))


def parse_json(body: bytes, rows_of: str = "") -> Any:
    """Parse a JSON body. Raises ParseError, ValidationError or TooLarge if we cannot accept it."""
    return _read(body, orjson.loads, rows_of, exactly=False)


def read_exactly(body: bytes, rows_of: str = "") -> Any:
    """Parse a JSON body like `parse_json`, with every number as it was written."""
    return _read(body, exact.loads, rows_of, exactly=True)


def _rows_of(parser_context: Any) -> str:
    return getattr((parser_context or {}).get("view"), "rows_of", "")


def _read(body: bytes, loads: Callable[[bytes], Any], rows_of: str, *, exactly: bool) -> Any:
    _refuse_many(body)
    value: Any = None
    why = None
    try:
        value = loads(body)
    except json.JSONDecodeError as error:
        why = error
    if why is None:
        if too_deep(value):
            raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.")
        if not flaws.may_name_twice(body, value):
            return value
    try:
        parsed, all_flaws = flaws.find(body, exactly=exactly)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"The body is not JSON: {why or error}") from error
    if _refuse_flaws(parsed, all_flaws, rows_of):
        return parsed
    if why:
        raise ParseError(f"The body is not JSON: {why}") from why
    return value


def _refuse_flaws(value: Any, all_flaws: Iterator[flaws.Flaw], rows_of: str) -> bool:
    """Whether there are flaws in rows of `rows_of`: those rows are refused later, with other
    invalid rows. Raises ValidationError with the fields of flaws elsewhere."""
    rows: Any = value.get(rows_of) if isinstance(value, dict) and rows_of else None
    if isinstance(rows, list) and len(rows) > ROWS_AT_ONCE:
        return True  # they will be refused for their number, whatever they contain
    in_rows, others = False, dict[str, str]()
    for flaw in all_flaws:
        if isinstance(rows, list) and flaw.where[0] == rows_of and len(flaw.where) > 1:
            _add_flaw(rows, flaw)
            in_rows = True
        elif len(others) < MAX_NAMED:
            others[flaw.within(0)] = flaw.message
    if others:
        raise ValidationError(others)
    return in_rows


def _add_flaw(rows: list[Any], flaw: flaws.Flaw) -> None:
    index: Any = flaw.where[1]
    if not isinstance(rows[index], flaws.Flawed):
        rows[index] = flaws.Flawed()
    if len(rows[index]) < MAX_NAMED:
        rows[index][flaw.within(2)] = flaw.message


def _refuse_many(body: bytes) -> None:
    """Refuse a body with too many values, before parsing takes memory. Each value follows a comma,
    or is the first in brackets."""
    if sum(map(body.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise TooLarge(f"At most {MAX_VALUES:,} values can be sent at once; send it in parts.")


def refuse_unreadable(request: Request) -> None:
    """Check the headers of the body before a byte of it is read."""
    refuse_packed(request.META.get("HTTP_CONTENT_ENCODING"))
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length and "HTTP_TRANSFER_ENCODING" in request.META:
        raise NoLength
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if length.isdecimal() and int(length) > limit:
        raise TooLarge(f"The body may have at most {limit:,} bytes; send it in parts.")


def refuse_packed(encoding: str | None) -> None:
    if (encoding or "identity").strip().lower() != "identity":
        raise Packed


class AlwaysJson(BaseContentNegotiation):
    """Always answers with JSON: each resource has one format, so an odd Accept header is no reason
    to fail."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        given = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == given), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type


class AlwaysTheReference(DefaultContentNegotiation):
    """Content negotiation for the API reference, which has several formats. Clients that accept
    none of them get the first."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        try:
            renderer, media_type = super().select_renderer(request, renderers, format_suffix)
        except (NotAcceptable, Http404):
            renderer = renderers[0]
            media_type = renderer.media_type
        return renderer, media_type
