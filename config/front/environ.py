"""WSGI environments (PEP 3333): built from requests as ASGI describes them."""

from __future__ import annotations

import io
import sys
from typing import Any
from urllib.parse import unquote_to_bytes

from django.utils.http import parse_header_parameters

OWN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}
LONGEST = 1_000  # letters of a header whose parameters are parsed; browsers send 200
CHARSETS = {
    *("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1", "windows-1252"),
    *("iso-8859-15", "euc-kr", "ks_c_5601-1987", "cp949"),
}


def environ_of(scope: dict[str, Any]) -> dict[str, Any]:
    """The WSGI environment of a request, without its body."""
    version = scope["http_version"]
    return {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        # As it was sent: Django judges what is not UTF-8.
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": "HTTP/1.0" if version == "1" else f"HTTP/{version}",
        "SERVER_NAME": scope["server"][0],
        "SERVER_PORT": scope["server"][1],
        "SERVER_SOFTWARE": "Granian",
        "REMOTE_ADDR": scope["client"][0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "carillon.keys": _count_header(b"idempotency-key", scope["headers"]),
        **_header_variables(scope["headers"]),
    }


def _count_header(name: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    return sum(header == name for header, _ in headers)


def is_text(content_type: str) -> bool:
    """Whether the charset is a known one of texts: Django decodes the address with it, too."""
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "utf-8")
    except ValueError:
        return False
    return charset.lower() in CHARSETS


def long_header(environ: dict[str, Any]) -> str:
    """The name of a header that is too long, if any.

    Parsing takes time that grows with the square of its length.
    """
    names = {"CONTENT_TYPE": "Content-Type", "HTTP_ACCEPT": "Accept"}
    return next((names[key] for key in names if len(environ.get(key, "")) > LONGEST), "")


def with_body(environ: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Add the body. Its length is known now, even if it came in chunks."""
    environ["wsgi.input"] = io.BytesIO(body)
    if environ.pop("HTTP_TRANSFER_ENCODING", None) is not None:
        environ["CONTENT_LENGTH"] = str(len(body))
    return environ


def _header_variables(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        # X_Forwarded_For would become X-Forwarded-For, which only our own proxy may set.
        if "_" in name:
            continue
        key = OWN_NAMES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
        between = "; " if name == "cookie" else ","
        variables[key] = f"{variables[key]}{between}{value}" if key in variables else value
    return variables
