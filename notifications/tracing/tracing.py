"""Tracing: `with span(…)` times a piece of work. Without a collector it does nothing.

Then OpenTelemetry is not even imported. A span carries numbers, ids and names from closed lists,
never a person's name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from django.conf import settings

PARENT = "traceparent"  # a header of HTTP requests and tasks: the work belongs to this trace
LINK = "carillon_rung_by"  # a header of tasks that begin a new trace: the span that enqueued them
IN_META = "carillon.span"  # in a request's META: its span, for lines logged after it ended
SPANS = "notifications.tracing.spans"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Span(Protocol):
    @property
    def place(self) -> str:
        """The span's id as a `traceparent` header."""

    def __enter__(self) -> Span: ...

    def __exit__(self, *error: Any) -> None: ...

    def child(self, name: str, kind: str = "internal", **what: Any) -> Span:
        """Begin a span inside this one, without a `with`."""

    def tell(self, **what: Any) -> None: ...

    def rename(self, name: str) -> None: ...

    def link(self, parent: str) -> None:
        """Link to a span that caused this one, besides its own parent."""

    def end(self) -> None:
        """End a span that had no `with`. After a `with` this does nothing."""


class NoSpan:
    place = ""

    def __enter__(self) -> Span:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def child(self, name: str, kind: str = "internal", **what: Any) -> Span:
        return self

    def tell(self, **what: Any) -> None:
        pass

    def rename(self, name: str) -> None:
        pass

    def link(self, parent: str) -> None:
        pass

    def end(self) -> None:
        pass


NO_SPAN: Span = NoSpan()


def is_on() -> bool:
    return bool(settings.OTEL_EXPORTER_OTLP_ENDPOINT)


def span(
    name: str, kind: str = "internal", *, carried: Mapping[str, Any] = NOTHING, **what: Any
) -> Span:
    """Begin a span inside the current one, or inside the one that another process `carried`."""
    if not is_on():
        return NO_SPAN
    parent, rung_by = carried.get(PARENT), carried.get(LINK)
    begun: Span = _spans().begin(name, kind, what, parent=parent, rung_by=rung_by)
    return begun


def carried(*, anew: bool = False) -> dict[str, str]:
    """Return the headers for a process that continues this work. `anew`: it begins a new trace that
    links to ours."""
    here = _spans().here() if is_on() else ""
    return {LINK if anew else PARENT: here} if here else {}


def ids(place: str = "") -> dict[str, str]:
    """Return trace and span id of the current span, or of `place`, for a log line. Before the first
    span this does not even read the settings: lines are logged before settings exist."""
    spans = sys.modules.get(SPANS)
    named: list[str] = (spans.here() or place).split("-") if spans else []
    return {"trace_id": named[1], "span_id": named[2]} if len(named) == 4 else {}


def prepare() -> None:
    """Import OpenTelemetry in a process that forks others. This starts no thread."""
    if is_on():
        _spans()


def flush() -> None:
    """Export the remaining spans at the end of a process, for at most one second."""
    if is_on():
        _spans().flush()


def _spans() -> Any:
    from notifications.tracing import spans  # only if tracing is on

    return spans
