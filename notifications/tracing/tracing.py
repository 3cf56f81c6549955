"""A span is a `with` around what takes time. Without a collector it is a `with` around nothing.

Then nothing of OpenTelemetry is even imported. What a span tells are numbers, ids and names from
closed lists, never a person's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from django.conf import settings

PARENT = "traceparent"  # a header, of HTTP and of a task: what follows belongs to its trace
LINK = "carillon_rung_by"  # of a task that begins a trace: what rang it
IN_META = "carillon.span"  # of a request: its span's place, for what is logged after it ended
SPANS = "notifications.tracing.spans"
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Span(Protocol):
    @property
    def place(self) -> str:
        """As a `traceparent` names it."""

    def __enter__(self) -> Span: ...

    def __exit__(self, *error: Any) -> None: ...

    def child(self, name: str, kind: str = "internal", **what: Any) -> Span:
        """For what is not inside of a `with`."""

    def tell(self, **what: Any) -> None: ...

    def rename(self, name: str) -> None: ...

    def link(self, parent: str) -> None:
        """To a span that this one answers, besides its own parent."""

    def end(self) -> None:
        """Of one that had no `with`; of another it does nothing more."""


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
    """Begun now, within the one at work; or as `carried` says that came from another process."""
    if not is_on():
        return NO_SPAN
    parent, rung_by = carried.get(PARENT), carried.get(LINK)
    begun: Span = _spans().begin(name, kind, what, parent=parent, rung_by=rung_by)
    return begun


def carried(*, anew: bool = False) -> dict[str, str]:
    """For a process that goes on with this: headers. `anew`: it begins a trace, linked to ours."""
    here = _spans().here() if is_on() else ""
    return {LINK if anew else PARENT: here} if here else {}


def ids(place: str = "") -> dict[str, str]:
    """Of the span at work, or of that place, as OpenTelemetry names them in a log. Where no span
    was begun yet nothing is asked, not even the settings: lines are logged before there are any."""
    spans = sys.modules.get(SPANS)
    named: list[str] = (spans.here() or place).split("-") if spans else []
    return {"trace_id": named[1], "span_id": named[2]} if len(named) == 4 else {}


def prepare() -> None:
    """Read what it takes, in a process that others are forked from. No thread is begun."""
    if is_on():
        _spans()


def flush() -> None:
    """At the end of a process: what it has not told yet, if the collector takes it in a second."""
    if is_on():
        _spans().flush()


def _spans() -> Any:
    from notifications.tracing import spans  # only where traces are wanted

    return spans
