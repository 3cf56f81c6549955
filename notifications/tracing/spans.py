"""Spans: OpenTelemetry spans, which a thread of each process exports to the collector.

Code that ends a span only puts it into a queue. If the collector is down or slow, spans are dropped
there. The thread shares nothing with the loop that sends to FCM.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.conf import settings
from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

FLUSH_SECONDS = 1.0
EXPORT_SECONDS = 5.0
HEADER = "traceparent"  # of W3C Trace Context
KINDS = {kind.name.lower(): kind for kind in trace.SpanKind}

log = logging.getLogger(__name__)
_w3c = TraceContextTextMapPropagator()


class Exporter(OTLPSpanExporter):
    """Logs once that the collector is down, and once that it is back: it may be down for days."""

    away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        away = result is not SpanExportResult.SUCCESS
        if away and not self.away:
            log.warning("traces are dropped: nobody takes them at OTEL_EXPORTER_OTLP_ENDPOINT")
        elif self.away and not away:
            log.info("the collector takes traces again")
        self.away = away
        return result


@cache
def _provider(pid: int) -> TracerProvider:
    """Create this process's provider. A fork needs its own, because it inherits no threads."""
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # else it logs each failed try
    os.environ.setdefault("OTEL_SERVICE_NAME", "carillon")  # the resource reads it
    # Its own shutdown at exit may take 30 s.
    provider = TracerProvider(resource=Resource.create(), shutdown_on_exit=False)
    endpoint = f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces"
    exporter = Exporter(endpoint=endpoint, timeout=EXPORT_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    atexit.register(flush)
    return provider


def flush() -> None:
    telling = threading.Thread(target=_provider(os.getpid()).force_flush, daemon=True)
    telling.start()
    telling.join(FLUSH_SECONDS)


class OpenSpan:
    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self._token: Any = None

    def __enter__(self) -> OpenSpan:
        self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is not None:  # only its class: its text may name a person
            self._span.set_status(trace.StatusCode.ERROR, kind.__name__)
        context.detach(self._token)
        self._span.end()

    def child(self, name: str, kind: str = "internal", **what: Any) -> OpenSpan:
        return _begin_span(name, kind, trace.set_span_in_context(self._span), what)

    def tell(self, **what: Any) -> None:
        self._span.set_attributes(_prefix_names(what))

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    @property
    def place(self) -> str:
        return _header(trace.set_span_in_context(self._span))

    def link(self, parent: str) -> None:
        for link in _links(parent):
            self._span.add_link(link.context)

    def end(self) -> None:
        if self._span.is_recording():
            self._span.end()


def begin(name: str, kind: str, what: Mapping[str, Any], *, parent: Any, rung_by: Any) -> OpenSpan:
    if rung_by:
        return _begin_span(name, kind, context.Context(), what, _links(rung_by))
    return _begin_span(name, kind, _parent_context(parent), what)


def here() -> str:
    """Return the current span as a `traceparent` for another process. Empty: there is none."""
    return _header(None)


def _header(within: context.Context | None) -> str:
    headers: dict[str, str] = {}
    _w3c.inject(headers, within)
    return headers.get(HEADER, "")


def _begin_span(
    name: str,
    kind: str,
    within: context.Context | None,
    what: Mapping[str, Any],
    links: Sequence[trace.Link] = (),
) -> OpenSpan:
    tracer = _provider(os.getpid()).get_tracer("carillon")
    attributes = _prefix_names(what)
    return OpenSpan(
        tracer.start_span(name, within, KINDS[kind], attributes=attributes, links=links)
    )


def _parent_context(parent: Any) -> context.Context | None:
    """Return the context of a parent from another process. None: use the current span."""
    return _w3c.extract({HEADER: str(parent)}) if parent else None


def _links(parent: Any) -> list[trace.Link]:
    """Return a link to the parent, or none if the header is not valid: any client can send one."""
    found = trace.get_current_span(_w3c.extract({HEADER: str(parent)}, context.Context()))
    its = found.get_span_context()
    return [trace.Link(its)] if its.is_valid else []


def _prefix_names(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Add our prefix to attribute names, except OpenTelemetry's own, which contain a dot."""
    return {
        name if "." in name else f"carillon.{name}": value
        for name, value in attributes.items()
        if value is not None
    }
