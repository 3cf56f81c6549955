"""A WSGI application that tells what it was asked, bare and behind the front.

`/wait` answers when the file that WAIT_FOR names is there; `/parts` in parts; an address with
`/raise` in it fails.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import django

from config.front.front import Front
from config.front.worker_limits import Limits

django.setup()  # the front's own answers are translated
OF_THE_REQUEST = ("HTTP_", "CONTENT_", "PATH_INFO", "QUERY_", "REMOTE_", "REQUEST_", "SCRIPT_")
BESIDE = ("SERVER_PROTOCOL", "SERVER_NAME", "wsgi.url_scheme")


def bare(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    if "/raise" in environ["PATH_INFO"]:
        raise RuntimeError("innermost words")
    start_response("200 OK", [("Content-Type", "application/json"), ("Set-Cookie", "a=1")])
    if environ["PATH_INFO"] == "/wait":
        Path(os.environ["WAIT_FOR"] + ".begun").touch()
        while not Path(os.environ["WAIT_FOR"]).exists():
            time.sleep(0.02)
    if environ["PATH_INFO"] == "/parts":
        return (b"x" * 50_000 for _ in range(10))
    told = {
        name: value
        for name, value in environ.items()
        if name.startswith(OF_THE_REQUEST) or name in BESIDE
    }
    told["body"] = environ["wsgi.input"].read().decode("latin-1")
    return [json.dumps(told).encode()]


behind = Front(bare, Limits(**json.loads(os.environ.get("HURRIED", "{}"))))
