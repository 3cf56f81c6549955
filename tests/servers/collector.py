"""A collector of traces beside the tests: it speaks OTLP, and keeps what it is told."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Told:
    """A span, as it came."""

    name: str
    trace: str
    number: str
    parent: str
    links: tuple[str, ...]  # traces
    what: dict[str, Any]
    kind: int


class Collector:
    def __init__(self) -> None:
        self.spans: list[Told] = []
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the server's own name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/traces"
                ours.spans += spans_in(ExportTraceServiceRequest.FromString(body))
                said = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def named(self, name: str) -> list[Told]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    threading.Thread(target=collector.server.serve_forever, daemon=True).start()
    try:
        yield collector
    finally:
        collector.server.shutdown()
        collector.server.server_close()


def spans_in(request: ExportTraceServiceRequest) -> Iterator[Told]:
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Told(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    number=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    links=tuple(link.trace_id.hex() for link in span.links),
                    what={each.key: _value(each.value) for each in span.attributes},
                    kind=span.kind,
                )


def _value(value: Any) -> Any:
    return getattr(value, value.WhichOneof("value"))
