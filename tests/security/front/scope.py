"""What the web server says of a request."""

from __future__ import annotations

SCOPE = {
    "type": "http",
    "method": "GET",
    "scheme": "http",
    "http_version": "1.1",
    "raw_path": b"/",
    "query_string": b"",
    "headers": [],
    "server": ("127.0.0.1", "8000"),
    "client": ("127.0.0.1", "40000"),
}
