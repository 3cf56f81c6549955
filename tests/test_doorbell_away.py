"""A launch is a row. Whether its doorbell can be rung is not the launcher's trouble."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

# As the web does it: its application first.
RING = "import config.wsgi; from campaigns.tasks import _publish; _publish(1)"


def test_a_redis_that_hangs_holds_nobody_up_at_the_door() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = urlsplit(settings.REDIS_URL)
        there = f"127.0.0.1:{silent.getsockname()[1]}"
        rung = subprocess.run(
            [sys.executable, "-c", RING],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "REDIS_URL": urlunsplit(url._replace(netloc=there))},
            timeout=25,  # seconds; most of them for the imports of a loaded machine
        )

    assert "could not be rung, the sweep will" in rung.stderr
