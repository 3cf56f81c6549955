"""A web site of somebody else, at an origin of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Site:
    """One page, and its service worker where it has one."""

    page = ""
    worker = ""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.origin = f"http://127.0.0.1:{server.server_address[1]}"

    def answer(self, path: str) -> tuple[str, str]:
        answers = {"/": ("text/html", self.page), "/sw.js": ("text/javascript", self.worker)}
        return answers.get(path, ("text/plain", ""))


@contextmanager
def serving() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # as the library calls it
            kind, text = site.answer(self.path)
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Site(server)
        Thread(target=server.serve_forever, daemon=True).start()
        yield site
        server.shutdown()
